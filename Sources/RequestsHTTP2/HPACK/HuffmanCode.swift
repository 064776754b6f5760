import Requests

/// The Huffman code of strings in header blocks (RFC 7541 §5.2, Appendix B).
///
/// The code is canonical: in the order of their lengths, then of their symbols, each code is the number after the one
/// before it. So the lengths determine the code, and all tables are computed from them at first use.
package enum HuffmanCode {
    /// The length in bits of the code of each byte, and of EOS, which is the last.
    package static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
        28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7,
        7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21,
        23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24,
        21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
    ]

    /// The code of a symbol: its bits, the last one lowest, and their number.
    package struct Code {
        package var bits: UInt32 = 0
        package var length: UInt8 = 0
    }

    /// The codes of all bytes, and of EOS.
    package static let codes: [Code] = {
        var codes = [Code](repeating: Code(), count: lengths.count)
        for level in levels {
            for offset in 0..<level.count {
                let bits = level.firstCode + UInt32(offset)
                codes[Int(symbols[level.firstSymbol + offset])] = Code(bits: bits, length: UInt8(level.length))
            }
        }
        return codes
    }()

    /// The symbols in the order of their codes.
    private static let symbols = lengths.indices.sorted { (lengths[$0], $0) < (lengths[$1], $1) }.map { UInt16($0) }

    /// The symbols whose codes have the same length.
    private struct Level {
        var length: Int
        var firstCode: UInt32
        /// The position of the first one in `symbols`.
        var firstSymbol: Int
        var count: Int
    }

    /// The levels in the order of their lengths.
    private static let levels: [Level] = {
        var levels: [Level] = []
        for (position, symbol) in symbols.enumerated() {
            let length = Int(lengths[Int(symbol)])
            if let last = levels.last, last.length == length {
                levels[levels.count - 1].count += 1
            } else {
                let next = levels.last.map { ($0.firstCode + UInt32($0.count)) << UInt32(length - $0.length) } ?? 0
                levels.append(Level(length: length, firstCode: next, firstSymbol: position, count: 1))
            }
        }
        return levels
    }()
}

// MARK: Encoding

extension HuffmanCode {
    /// Returns the number of bytes that the code of `text` takes.
    package static func encodedCount(of text: Span<UInt8>) -> Int {
        let lengths = lengths
        var bits = 0
        for position in text.indices { bits &+= Int(lengths[Int(text[position])]) }
        return (bits + 7) / 8
    }

    /// Appends the code of `text`, and the padding of its last byte.
    package static func encode(_ text: Span<UInt8>, into buffer: inout [UInt8]) {
        let codes = codes
        // At most 7 bits remain when the next code, of at most 30 bits, is added.
        var (bits, count): (UInt64, UInt8) = (0, 0)
        for position in text.indices {
            let code = codes[Int(text[position])]
            bits = bits &<< UInt64(code.length) | UInt64(code.bits)
            count &+= code.length
            while count >= 8 {
                count &-= 8
                buffer.append(UInt8(truncatingIfNeeded: bits &>> UInt64(count)))
            }
        }
        // The padding is the beginning of EOS, whose bits are all ones.
        if count > 0 { buffer.append(UInt8(truncatingIfNeeded: bits &<< UInt64(8 &- count)) | 0xFF &>> count) }
    }
}

// MARK: Decoding

extension HuffmanCode {
    /// The symbol at the beginning of a code, and the length of its code; length 0 for a code of more than 8 bits.
    private struct ShortCode {
        var symbol: UInt8 = 0
        var length: UInt8 = 0
    }

    /// The symbols by the next 8 bits, because frequent symbols have codes of at most 8 bits.
    private static let shortCodes: [ShortCode] = {
        var table = [ShortCode](repeating: ShortCode(), count: 256)
        for symbol in 0..<256 where codes[symbol].length <= 8 {
            let code = codes[symbol]
            let first = Int(code.bits) << Int(8 - code.length)
            for next in first..<first + 1 << Int(8 - code.length) {
                table[next] = ShortCode(symbol: UInt8(symbol), length: code.length)
            }
        }
        return table
    }()

    private static let longLevels = levels.filter { $0.length > 8 }

    /// Appends the text that `bytes` encode.
    ///
    /// - Returns: False if the bytes contain EOS, or end in padding that is longer than 7 bits or not all ones; some of
    ///   the text may have been appended.
    package static func decode(_ bytes: Span<UInt8>, into text: inout [UInt8]) -> Bool {
        let shortCodes = shortCodes
        // The next bits, the first one highest, and their number; all further bits are zero.
        var (bits, count): (UInt64, UInt8) = (0, 0)
        var position = 0
        while true {
            while count <= 56, position < bytes.count {
                bits |= UInt64(bytes[position]) &<< UInt64(56 &- count)
                count &+= 8
                position &+= 1
            }
            let short = shortCodes[Int(truncatingIfNeeded: bits &>> 56)]
            var (symbol, length) = (UInt16(short.symbol), short.length)
            if length == 0 { (symbol, length) = longCode(at: bits) }
            guard length <= count else {
                // Whole bytes are never padding, and the bits of padding are all ones.
                return count < 8 && bits == ~(UInt64.max &>> UInt64(count))
            }
            guard symbol < 256 else { return false }
            text.append(UInt8(truncatingIfNeeded: symbol))
            bits &<<= UInt64(length)
            count &-= length
        }
    }

    /// Returns the symbol and the length of the code of more than 8 bits at the beginning of `bits`.
    private static func longCode(at bits: UInt64) -> (symbol: UInt16, length: UInt8) {
        // Never negative: a code below the first one of a level is shorter, and was found before.
        for level in longLevels {
            let offset = Int(bits &>> UInt64(64 - level.length)) - Int(level.firstCode)
            if offset < level.count { return (symbols[level.firstSymbol + offset], UInt8(level.length)) }
        }
        // Not reached: the last code of the last level has only ones.
        return (256, 30)
    }
}
