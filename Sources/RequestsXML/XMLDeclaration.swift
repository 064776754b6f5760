/// The XML declaration at the beginning of a document (XML 1.0 §2.8).
struct XMLDeclaration {
    /// The error of a declaration that is not well-formed, with its position in bytes.
    struct Malformed: Error {
        let position: Int
    }

    /// The encoding that the declaration names; nil if it names none.
    private(set) var encoding: String?

    /// The length of the declaration in bytes; 0 if there is none.
    var length: Int { position }

    private let bytes: [UInt8]
    private var position = 0

    /// Reads the declaration at the beginning of `bytes`, which are in any encoding that extends ASCII.
    ///
    /// - Throws: `Malformed`, also for a declaration without a version.
    init(_ bytes: [UInt8]) throws(Malformed) {
        self.bytes = bytes
        guard bytes.starts(with: "<?xml".utf8), bytes.count > 5, XMLText.isWhitespace(bytes[5]) else { return }
        position = 5
        // All attributes except the first are optional, and their order is fixed.
        guard let version = try attribute("version") else { throw Malformed(position: position) }
        try check(version, beginsWith: "1.".utf8) { $0 &- 0x30 < 10 }
        if let encoding = try attribute("encoding") {
            try check(encoding, beginsWith: []) { Self.isLetter($0) || $0 &- 0x30 < 10 || "._-".utf8.contains($0) }
            guard Self.isLetter(bytes[encoding.lowerBound]) else { throw Malformed(position: encoding.lowerBound) }
            self.encoding = String(decoding: bytes[encoding], as: UTF8.self)
        }
        if let standalone = try attribute("standalone") {
            guard ["yes", "no"].contains(where: { bytes[standalone].elementsEqual($0.utf8) }) else {
                throw Malformed(position: standalone.lowerBound)
            }
        }
        skipWhitespace()
        guard take("?>") else { throw Malformed(position: position) }
    }

    /// Returns the range of the value of the attribute `name` if that comes next, after white space; otherwise nil.
    private mutating func attribute(_ name: StaticString) throws(Malformed) -> Range<Int>? {
        let start = position
        guard skipWhitespace(), take(name) else {
            position = start
            return nil
        }
        skipWhitespace()
        guard take("=") else { throw Malformed(position: position) }
        skipWhitespace()
        guard position < bytes.count, case let quote = bytes[position], quote == 0x22 || quote == 0x27,
            let end = bytes[(position + 1)...].firstIndex(of: quote)
        else { throw Malformed(position: position) }
        defer { position = end + 1 }
        return position + 1..<end
    }

    /// Throws unless the bytes of `range` are `start` followed by one or more bytes that `isAllowed` accepts.
    private func check(
        _ range: Range<Int>, beginsWith start: some Collection<UInt8>, isAllowed: (UInt8) -> Bool
    ) throws(Malformed) {
        let end = bytes[range].dropFirst(start.count)
        guard bytes[range].starts(with: start), !end.isEmpty, end.allSatisfy(isAllowed) else {
            throw Malformed(position: range.lowerBound)
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    @discardableResult
    private mutating func skipWhitespace() -> Bool {
        let start = position
        while position < bytes.count, XMLText.isWhitespace(bytes[position]) { position += 1 }
        return position > start
    }

    private mutating func take(_ mark: StaticString) -> Bool {
        guard mark.withUTF8Buffer({ bytes[position...].starts(with: $0) }) else { return false }
        position += mark.utf8CodeUnitCount
        return true
    }
}
