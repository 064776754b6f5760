import Requests

extension TraceContext {
    /// Values of an application that accompany a trace from one service to the next (W3C Baggage).
    ///
    /// ```swift
    /// var baggage = TraceContext.Baggage.current
    /// baggage["user.tier"] = "gold"
    /// ```
    ///
    /// Every service that forwards them can read them, so they must not contain secrets. ``RequestTracing`` sends them
    /// only to the origin of a call.
    public struct Baggage: Sendable, CustomStringConvertible {
        /// One value.
        public struct Entry: Sendable {
            /// The name, a token.
            public var key: String
            /// The value, decoded.
            public var value: String
            /// The properties as in the field, such as `ttl=30`; empty for none.
            public var properties: [String] = []

            /// Creates an entry.
            public init(key: String, value: String, properties: [String] = []) {
                self.key = key
                self.value = value
                self.properties = properties
            }
        }

        /// The values, in order.
        public private(set) var entries: [Entry] = []

        private static let countLimit = 64
        /// The maximum number of bytes of a field.
        private static let lengthLimit = 8192

        /// Creates baggage without values.
        public init() {}

        /// The baggage of the present task, which accompanies its requests.
        @TaskLocal public static var current = Baggage()

        /// Whether there are no values.
        public var isEmpty: Bool { entries.isEmpty }

        /// The value for `key`; nil for none.
        ///
        /// Setting it replaces the entry with its properties. A key that is not a token is ignored.
        public subscript(key: String) -> String? {
            get { entries.last { $0.key.hasSameBytes(as: key) }?.value }
            set {
                entries.removeAll { $0.key.hasSameBytes(as: key) }
                if let newValue, Token.isToken(key.utf8) { entries.append(Entry(key: key, value: newValue)) }
            }
        }

        /// Creates the baggage that `header` contains.
        ///
        /// Members that are malformed are left out. Of repeated keys, the last is used. After 64 members or 8192 bytes,
        /// further ones are left out.
        public init(_ header: Header) {
            var (length, keys): (Int, [ByteText: Int]) = (0, [:])
            for member in header.values(of: .baggage).lazy.flatMap({ $0.splitBytes(at: ",") }) {
                length += member.utf8.count + 1
                guard entries.count < Self.countLimit, length <= Self.lengthLimit + 1 else { return }
                guard let entry = Self.entry(member) else { continue }
                if let index = keys[ByteText(entry.key)] {
                    entries[index] = entry
                } else {
                    keys[ByteText(entry.key)] = entries.count
                    entries.append(entry)
                }
            }
        }

        /// The value of the baggage field, at most 64 entries and 8192 bytes; nil for none.
        ///
        /// Bytes that the grammar does not allow are percent-encoded. An entry whose key is not a token, or whose
        /// properties are malformed, is left out.
        public var fieldValue: String? {
            var (texts, length): ([String], Int) = ([], -1)
            for entry in entries where texts.count < Self.countLimit {
                guard Token.isToken(entry.key.utf8), entry.properties.allSatisfy(Self.isProperty) else { continue }
                let text = ([entry.key + "=" + Self.encoded(entry.value)] + entry.properties).joined(separator: ";")
                guard length + text.utf8.count + 1 <= Self.lengthLimit else { continue }
                length += text.utf8.count + 1
                texts.append(text)
            }
            return texts.isEmpty ? nil : texts.joined(separator: ",")
        }

        /// The value of the baggage field.
        public var description: String { fieldValue ?? "" }

        private static func entry(_ member: Substring) -> Entry? {
            let parts = member.splitBytes(at: ";", omittingEmptySubsequences: false).map(\.trimmingBlanks)
            guard let first = parts.first else { return nil }
            let pair = first.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmingBlanks)
            guard pair.count == 2, Token.isToken(pair[0].utf8), pair[1].utf8.allSatisfy(isOctet) else { return nil }
            let properties = parts.dropFirst().map(String.init)
            guard properties.allSatisfy(isProperty) else { return nil }
            return Entry(key: String(pair[0]), value: PercentEncoding.decode(pair[1]), properties: properties)
        }

        private static func isProperty(_ text: String) -> Bool {
            let pair = text.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false).map(\.trimmingBlanks)
            return Token.isToken(pair[0].utf8) && (pair.count == 1 || pair[1].utf8.allSatisfy(isOctet))
        }

        /// Returns whether `byte` can be part of a value: printable ASCII except space, `"`, `,`, `;` and `\`.
        private static func isOctet(_ byte: UInt8) -> Bool {
            (0x21...0x7E).contains(byte) && !"\",;\\".utf8.contains(byte)
        }

        private static func encoded(_ value: String) -> String {
            var bytes: [UInt8] = []
            for byte in value.utf8 {
                if isOctet(byte), byte != UInt8(ascii: "%") {
                    bytes.append(byte)
                } else {
                    let (high, low) = (Hex.digit(byte >> 4), Hex.digit(byte & 0x0F))
                    bytes += [UInt8(ascii: "%"), high, low]
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
