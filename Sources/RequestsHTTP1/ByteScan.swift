// `unchecked` and `unsafeLoad` are used only where the code around them proves that the position is within the span.

/// The bytes that end a line or separate its parts, and the classes of bytes.
enum Octet {
    static let tab: UInt8 = 0x09
    static let lineFeed: UInt8 = 0x0A
    static let carriageReturn: UInt8 = 0x0D
    static let space: UInt8 = 0x20
    static let colon: UInt8 = 0x3A
    static let semicolon: UInt8 = 0x3B
    static let zero: UInt8 = 0x30

    /// Returns whether `byte` is SP or HTAB.
    static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// Returns whether `byte` is allowed in a token (RFC 9110 §5.6.2).
    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool {
        // One bit for each ASCII byte, 0 to 63 in `low`, 64 to 127 in `high`: constants, so that a byte costs no call.
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 != 0
    }

    /// Returns whether `byte` is a decimal digit.
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

    /// Returns the eight bytes at `position`, the first one lowest; the caller has checked that they are within the
    /// span.
    @inline(__always)  // one load, without a call
    private func word(at position: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
    }

    /// Returns the first position from `start` whose byte is neither SP nor visible ASCII, or the end.
    func endOfPlainText(from start: Int) -> Int {
        var position = start
        while count &- position >= 8 {
            let word = word(at: position)
            // Matches bytes below 0x20, DEL, and above 0x7F. Borrows spread upwards only, so the lowest match is exact.
            let below = (word &- Self.ones &* 0x20) & ~word
            let other = word ^ (Self.ones &* 0x7F)
            let found = (word | below | ((other &- Self.ones) & ~other)) & Self.highBits
            if found != 0 { return position &+ found.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < count, self[unchecked: position] &- 0x20 < 0x5F { position &+= 1 }
        return position
    }

    /// Returns the first position from `start` whose byte is not allowed in a token, or the end.
    func endOfToken(from start: Int) -> Int {
        var position = start
        while position < count {
            if count &- position >= 8 {
                let plain = plainTokenBytes(at: position)
                if plain == 8 {
                    position &+= 8
                    continue
                }
                position &+= plain
            }
            guard Octet.isToken(self[unchecked: position]) else { return position }
            position &+= 1
        }
        return position
    }

    /// Returns how many of the eight bytes at `position`, counted from the first, are letters, digits or `-`.
    private func plainTokenBytes(at position: Int) -> Int {
        let word = word(at: position)
        // The high bits are cleared so that each sum stays within its byte.
        let low = word & ~Self.highBits
        let lowerCase = low | Self.ones &* 0x20
        let letters = (lowerCase &+ Self.ones &* (0x80 - 0x61)) & ~(lowerCase &+ Self.ones &* (0x80 - 0x7B))
        let digits = (low &+ Self.ones &* (0x80 - 0x30)) & ~(low &+ Self.ones &* (0x80 - 0x3A))
        let dashes = ~((low ^ Self.ones &* 0x2D) &+ Self.ones &* 0x7F)
        let others = ~(letters | digits | dashes) | word
        return (others & Self.highBits).trailingZeroBitCount &>> 3
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

    /// Returns the position of the first LF from `start`, or nil.
    func firstLineFeed(from start: Int) -> Int? {
        var position = start
        while count &- position >= 8 {
            let other = word(at: position) ^ (Self.ones &* 0x0A)
            let found = (other &- Self.ones) & ~other & Self.highBits
            if found != 0 { return position &+ found.trailingZeroBitCount &>> 3 }
            position &+= 8
        }
        while position < count {
            if self[unchecked: position] == Octet.lineFeed { return position }
            position &+= 1
        }
        return nil
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
