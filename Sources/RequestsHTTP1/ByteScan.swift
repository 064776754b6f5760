import Requests

// `unchecked` and `unsafeLoad` are used only where the code around them proves that the position is within the span, or
// where the documentation requires it of the caller.

/// Bytes that end a line or separate its parts, and classes of bytes.
enum Octet {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let zero: UInt8 = 0x30

    /// Returns whether `byte` is SP or HTAB.
    static func isBlank(_ byte: UInt8) -> Bool {
        // One comparison excludes nearly all bytes.
        byte <= space && (byte == space || byte == tab)
    }

    /// Returns whether `byte` is allowed in a token (RFC 9110 §5.6.2).
    static func isToken(_ byte: UInt8) -> Bool {
        // One bit for each ASCII byte, 0 to 63 in `low`, 64 to 127 in `high`: constants, so that a byte costs no call.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 != 0
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }

    /// Returns the value of a hexadecimal digit in either case, or nil for any other byte.
    static func hexDigit(_ byte: UInt8) -> Int? {
        if isDigit(byte) { return Int(byte &- zero) }
        let letter = (byte | 0x20) &- 0x61
        return letter < 6 ? Int(letter) + 10 : nil
    }
}

extension Span<UInt8> {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    // The functions below examine eight bytes at a time: arithmetic on a word sets the high bit of bytes that match.

    /// The last position at which eight bytes begin; negative if there are fewer.
    private var lastWord: Int { count &- 8 }

    /// Returns the eight bytes at `position`, the first one lowest; the caller has checked that they are within the
    /// span.
    private func word(at position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: UInt64.self))
    }

    /// Returns the first position from `start` whose byte is neither SP nor visible ASCII, or the end.
    func endOfPlainText(from start: Int) -> Int {
        var position = start
        while position <= lastWord {
            let word = word(at: position)
            // Matches bytes above 0x7F, below 0x20, and DEL. Carries and borrows of these spread upwards only, so the
            // lowest match is exact.
            let found = (word | (word &- Self.ones &* 0x20) | (word &+ Self.ones)) & Self.highBits
            if found != 0 { return position &+ found.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < count, self[unchecked: position] &- 0x20 < 0x5F { position &+= 1 }
        return position
    }

    /// Returns the first position from `start` whose byte is not allowed in a token, or the end.
    func endOfToken(from start: Int) -> Int {
        var position = start
        while position <= lastWord {
            let plain = plainTokenBytes(at: position)
            position &+= plain
            if plain == 8 { continue }
            let byte = self[unchecked: position]
            // A colon, which is not in a token, ends nearly every name: one comparison.
            guard byte != Octet.colon, Octet.isToken(byte) else { return position }
            position &+= 1
        }
        while position < count, Octet.isToken(self[unchecked: position]) { position &+= 1 }
        return position
    }

    /// Returns how many of the eight bytes at `position`, counted from the first one, are letters or hyphens.
    private func plainTokenBytes(at position: Int) -> Int {
        let word = word(at: position)
        let lowerCase = word | Self.ones &* 0x20
        // A sum sets the high bit of its byte from the subtracted value on. Only bytes above 0x7F carry into the next
        // byte, and these are not plain themselves.
        let nonletters = ~(lowerCase &+ Self.ones &* (0x80 - 0x61)) | (lowerCase &+ Self.ones &* (0x80 - 0x7B))
        let nonhyphens = (word ^ Self.ones &* 0x2D) &+ Self.ones &* 0x7F
        return ((nonletters & nonhyphens | word) & Self.highBits).trailingZeroBitCount &>> 3
    }

    /// Returns whether the bytes from `start` to before `end` are `name`, which is in lower case, ignoring ASCII case.
    func isName(_ name: StaticString, from start: Int, to end: Int) -> Bool {
        guard end &- start == name.utf8CodeUnitCount else { return false }
        var offset = 0
        while start &+ offset < end, ASCIIFolding.folded(self[start &+ offset]) == name.utf8Start[offset] {
            offset &+= 1
        }
        return start &+ offset == end
    }

    /// Whether the bytes begin with `HTTP/1.1 200 OK`, CR and LF.
    var beginsWithOK: Bool {
        // In little-endian order: `HTTP/1.1`, then SP, `200 OK` and CR.
        count >= 17 && word(at: 0) == 0x312E_312F_5054_5448 && word(at: 8) == 0x0D4B_4F20_3030_3220
            && self[16] == Octet.lineFeed
    }

    /// Returns the minor version of `HTTP/1.0` to `HTTP/1.9`, or nil for other bytes or fewer than eight.
    func minorVersion(at start: Int) -> UInt8? {
        guard count &- start >= 8 else { return nil }
        let word = word(at: start)
        let digit = UInt8(truncatingIfNeeded: word &>> 56)
        // `HTTP/1.` in little-endian order.
        guard word & 0x00FF_FFFF_FFFF_FFFF == 0x002E_312F_5054_5448, Octet.isDigit(digit) else { return nil }
        return digit &- Octet.zero
    }

    /// Returns the first position from `start` whose byte is neither SP nor HTAB, or the end.
    func endOfBlanks(from start: Int) -> Int {
        var position = start
        while position < count, Octet.isBlank(self[unchecked: position]) { position &+= 1 }
        return position
    }

    /// Returns the end of the range from `start` to `end` without its trailing SP and HTAB.
    func trimmedEnd(_ end: Int, after start: Int) -> Int {
        var end = end
        while end > start, Octet.isBlank(self[end &- 1]) { end &-= 1 }
        return end
    }

    /// Returns the bytes from `start` to before `end` as text: UTF-8 if they are valid, otherwise ISO-8859-1.
    func text(from start: Int, to end: Int, isASCII: Bool) -> String {
        guard start < end, start >= 0, end <= count else { return "" }
        return extracting(start..<end).withUnsafeBufferPointer { buffer in
            if isASCII {
                return String(unsafeUninitializedCapacity: buffer.count) { $0.initialize(fromContentsOf: buffer) }
            }
            if let text = String(validating: buffer, as: UTF8.self) { return text }
            return String(String.UnicodeScalarView(buffer.lazy.map { Unicode.Scalar($0) }))
        }
    }
}
