/// A kind of escape, by its first byte.
enum Escape: UInt8 {
    /// `%XX` (RFC 3986 §2.1).
    case percent = 0x25
    /// The escapes of JSON (RFC 8259 §7), without the ones for control characters, which no secret contains.
    case json = 0x5C

    /// The bytes that an escape represents, and its length.
    struct Unit {
        /// The bytes, the first one lowest.
        private let bytes: UInt32
        /// The number of bytes.
        let count: Int
        /// The length of the escape.
        let length: Int

        init(_ byte: UInt8, length: Int) {
            (bytes, count, self.length) = (UInt32(byte), 1, length)
        }

        init(_ scalar: Unicode.Scalar, length: Int) {
            var (bytes, count): (UInt32, Int) = (0, 0)
            for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                bytes |= UInt32(byte) << UInt32(8 * count)
                count += 1
            }
            (self.bytes, self.count) = (bytes, count)
            self.length = length
        }

        subscript(index: Int) -> UInt8 { UInt8(truncatingIfNeeded: bytes >> UInt32(8 * index)) }
    }

    /// Returns the escape that begins at `position` of `text`; nil if the bytes there are not a valid escape.
    func unit(_ text: UnsafeBufferPointer<UInt8>, at position: Int) -> Unit? {
        if self == .percent {
            return Self.number(text, at: position + 1, digits: 2)
                .map { Unit(UInt8(truncatingIfNeeded: $0), length: 3) }
        }
        guard position + 1 < text.count else { return nil }
        switch text[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unit(text[position + 1], length: 2)
        case UInt8(ascii: "t"): return Unit(0x09, length: 2)
        case UInt8(ascii: "u"):
            guard let unit = Self.number(text, at: position + 2, digits: 4) else { return nil }
            if let scalar = Unicode.Scalar(unit) { return Unit(scalar, length: 6) }
            guard unit < 0xDC00, position + 7 < text.count, text[position + 6] == UInt8(ascii: "\\"),
                text[position + 7] == UInt8(ascii: "u"), let low = Self.number(text, at: position + 8, digits: 4),
                0xDC00..<0xE000 ~= low, let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
            else { return nil }
            return Unit(scalar, length: 12)
        default: return nil
        }
    }

    /// Returns whether `text` ends within an escape that begins at `position`.
    func isTruncated(_ text: UnsafeBufferPointer<UInt8>, at position: Int) -> Bool {
        let left = text.count - position
        if self == .json {
            if left == 1 { return true }
            return left < 6 && text[position + 1] == UInt8(ascii: "u") && Self.areDigits(text, from: position + 2)
        }
        return left < 3 && Self.areDigits(text, from: position + 1)
    }

    private static func areDigits(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Bool {
        (start..<text.count).allSatisfy { Hex.value(of: text[$0]) != nil }
    }

    /// Returns the number of `digits` hexadecimal digits at `position`, or nil.
    private static func number(_ text: UnsafeBufferPointer<UInt8>, at position: Int, digits: Int) -> UInt32? {
        guard position + digits <= text.count else { return nil }
        var number: UInt32 = 0
        for index in position..<position + digits {
            guard let digit = Hex.value(of: text[index]) else { return nil }
            number = number << 4 | UInt32(digit)
        }
        return number
    }
}

/// A search for backslashes that would form an escape with the first byte of a secret that follows.
struct Lookahead {
    /// The numbers of times that percent-encoding and JSON can still be decoded.
    private let percent: Int
    private let json: Int
    private let isBeginning: (UInt32) -> Bool

    /// The number of decoded bytes that are examined for the beginning of a secret with one more encoding.
    private static let limit = 24

    /// Creates a search before a text is decoded as JSON.
    ///
    /// - Parameters:
    ///   - percent: The number of times that percent-encoding can be decoded.
    ///   - json: The number of times that JSON can be decoded, including this time.
    ///   - isBeginning: Returns whether four bytes are the first ones of a secret.
    init(percent: Int, json: Int, _ isBeginning: @escaping (UInt32) -> Bool) {
        self.percent = percent
        self.json = json - 1
        self.isBeginning = isBeginning
    }

    /// Returns whether the backslash at `position` of `text` is kept, because a secret follows it.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - position: The position of the backslash.
    ///   - runEnd: The end of the run of backslashes that was examined last; updated if `position` is beyond it.
    /// - Returns: Whether it is kept.
    func keepsBackslash(_ text: UnsafeBufferPointer<UInt8>, at position: Int, _ runEnd: inout Int) -> Bool {
        if runEnd <= position {
            runEnd = position + 1
            while runEnd < text.count, text[runEnd] == UInt8(ascii: "\\") { runEnd += 1 }
        }
        // In a long run, every decoding results in backslashes only; examining each of them would take long.
        if runEnd - position > 4 * Self.limit { return isBeginning(0x5C5C_5C5C) }
        let following = UnsafeBufferPointer(rebasing: text[(position + 1)...])
        return Self.begins(following, .json, percent: percent, json: json, isBeginning)
    }

    /// Returns whether `text` begins with a secret when its escapes are decoded: once as `escape`, and then at most as
    /// many times as stated.
    private static func begins(
        _ text: UnsafeBufferPointer<UInt8>, _ escape: Escape, percent: Int, json: Int, _ isBeginning: (UInt32) -> Bool
    ) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: limit + 4) { memory in
            var (position, count, wanted) = (0, 0, SecretFinder.shortestBeginning)
            while count < wanted, position < text.count {
                if text[position] == escape.rawValue, let unit = escape.unit(text, at: position) {
                    for index in 0..<unit.count { memory[count + index] = unit[index] }
                    count += unit.count
                    position += unit.length
                } else {
                    memory[count] = text[position]
                    count += 1
                    position += 1
                }
                let last = memory[count - 1]
                if last == Escape.json.rawValue || last == Escape.percent.rawValue { wanted = limit }
            }
            guard count >= SecretFinder.shortestBeginning else { return false }
            let first = memory.prefix(SecretFinder.shortestBeginning)
            if isBeginning(first.reduce(0) { $0 << 8 | UInt32($1) }) { return true }
            let decoded = UnsafeBufferPointer(rebasing: memory[..<count])
            if percent > 0, first.contains(Escape.percent.rawValue),
                begins(decoded, .percent, percent: percent - 1, json: json, isBeginning)
            {
                return true
            }
            return json > 0 && first.contains(Escape.json.rawValue)
                && begins(decoded, .json, percent: percent, json: json - 1, isBeginning)
        }
    }
}
