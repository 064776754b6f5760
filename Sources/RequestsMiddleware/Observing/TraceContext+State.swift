import Requests

extension TraceContext {
    /// The entries of tracing systems in a tracestate field, latest first (W3C Trace Context §3.3).
    public struct State: Hashable, Sendable, CustomStringConvertible {
        // Compared byte by byte.
        private var entries: [Entry] = []

        private struct Entry: Hashable {
            let key: ByteText
            let value: ByteText
        }

        private static let countLimit = 32
        /// The maximum number of bytes of ``fieldValue``; other services may drop a longer one (§3.3.1.5).
        private static let lengthLimit = 512

        /// Creates a state without entries.
        public init() {}

        /// Creates the state that tracestate fields contain; nil if one of them is invalid.
        ///
        /// Keys and values with bytes that the grammar excludes, repeated keys, more than 32 entries, and more than 8
        /// KiB of text are invalid.
        ///
        /// - Parameter fieldValues: The values of the fields, in order.
        public init?(parsing fieldValues: [String]) {
            var keys: Set<ByteText> = []
            guard fieldValues.reduce(0, { $0 + $1.utf8.count }) <= 8 << 10 else { return nil }
            for member in fieldValues.flatMap({ $0.splitBytes(at: ",") }) {
                let member = member.trimmingBlanks
                if member.isEmpty { continue }
                let parts = member.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2, Self.isKey(Array(parts[0].utf8)), Self.isValue(Array(parts[1].utf8)),
                    keys.insert(ByteText(String(parts[0]))).inserted, keys.count <= Self.countLimit
                else { return nil }
                entries.append(Entry(key: ByteText(String(parts[0])), value: ByteText(String(parts[1]))))
            }
        }

        /// Whether there are no entries.
        public var isEmpty: Bool { entries.isEmpty }

        /// The value of the entry `key`; nil for none.
        ///
        /// A new or changed entry becomes the first, and the last one is removed if there are more than 32. An invalid
        /// key or value is ignored.
        public subscript(key: String) -> String? {
            get { entries.first { $0.key.text.hasSameBytes(as: key) }?.value.text }
            set {
                if let newValue, !Self.isKey(Array(key.utf8)) || !Self.isValue(Array(newValue.utf8)) { return }
                entries.removeAll { $0.key.text.hasSameBytes(as: key) }
                guard let newValue else { return }
                entries.insert(Entry(key: ByteText(key), value: ByteText(newValue)), at: 0)
                if entries.count > Self.countLimit { entries.removeLast() }
            }
        }

        /// The value of the tracestate field.
        ///
        /// If it would exceed 512 bytes, entries of more than 128 bytes are left out first, and then the last ones
        /// (§3.3.1.5).
        public var fieldValue: String {
            var texts = entries.map { "\($0.key.text)=\($0.value.text)" }
            var length = texts.reduce(0) { $0 + $1.utf8.count + 1 } - 1
            for index in texts.indices.reversed() where length > Self.lengthLimit && texts[index].utf8.count > 128 {
                length -= texts.remove(at: index).utf8.count + 1
            }
            while length > Self.lengthLimit, let last = texts.popLast() { length -= last.utf8.count + 1 }
            return texts.joined(separator: ",")
        }

        /// The value of the tracestate field.
        public var description: String { fieldValue }

        /// Returns whether `key` is a simple key or one of a tenant and a system (Level 2 §3.3.1.3.1).
        private static func isKey(_ key: [UInt8]) -> Bool {
            guard let at = key.firstIndex(of: UInt8(ascii: "@")) else { return isKeyPart(key[...], limit: 256) }
            return isKeyPart(key[..<at], limit: 241) && isKeyPart(key[(at + 1)...], limit: 14)
                && isLowercaseLetter(key[at + 1])
        }

        private static func isKeyPart(_ part: ArraySlice<UInt8>, limit: Int) -> Bool {
            guard let first = part.first, part.count <= limit, isLowercaseLetter(first) || isDigit(first) else {
                return false
            }
            return part.allSatisfy { isLowercaseLetter($0) || isDigit($0) || "_-*/".utf8.contains($0) }
        }

        private static func isLowercaseLetter(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

        /// Returns whether `value` is printable ASCII without comma and equals sign, and does not end with a space.
        private static func isValue(_ value: [UInt8]) -> Bool {
            guard let last = value.last, value.count <= 256, last != 0x20 else { return false }
            return value.allSatisfy { byte in
                (0x20...0x7E).contains(byte) && byte != UInt8(ascii: ",") && byte != UInt8(ascii: "=")
            }
        }
    }
}
