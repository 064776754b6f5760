/// Finds secrets in text by their bytes, in every spelling that others may give them.
///
/// A secret is found as it is, percent-encoded once or twice, in any mix of upper and lower case and of bytes encoded and
/// not, and with the escapes of JSON. A beginning of four bytes or more that the end of the text cuts off is found too.
/// The time is linear in the length of the text, for each secret.
package struct SecretFinder: Sendable {
    /// Shorter secrets, and shorter beginnings at the end of a text, would be found everywhere.
    package static let shortest = 4

    private let patterns: [Pattern]
    /// Which hashes the beginnings of the secrets have: few texts hold any.
    private var beginnings = Array(repeating: false, count: 1 << 12)

    /// The number of bytes behind a place that must be looked at to find each secret that begins before it.
    ///
    /// It is bounded: a longer secret is found by its beginning, which the end of these bytes cuts off.
    let reach: Int

    /// A finder of `secrets`; those shorter than ``shortest`` are left out.
    package init(_ secrets: some Sequence<String>) {
        let texts = Set(secrets.lazy.filter { $0.utf8.count >= Self.shortest }.map(ByteText.init))
        patterns = texts.map { Pattern(Array($0.text.utf8)) }
        reach = min(Spelling.longestUnit * (patterns.map(\.bytes.count).max() ?? 0), 4 << 10)
        for pattern in patterns { beginnings[Self.hash(pattern.beginning)] = true }
    }

    private static func hash(_ beginning: UInt32) -> Int { Int((beginning &* 0x9E37_79B1) >> 20) }

    /// The secrets whose beginning is anywhere in `bytes`.
    private func candidates(in bytes: [UInt8]) -> [Pattern] {
        var (window, found): (UInt32, Set<UInt32>) = (0, [])
        for byte in bytes {
            window = window << 8 | UInt32(byte)
            if beginnings[Self.hash(window)] { found.insert(window) }
        }
        return found.isEmpty ? [] : patterns.filter { found.contains($0.beginning) }
    }

    /// Whether there is nothing to find.
    package var isEmpty: Bool { patterns.isEmpty }

    /// Where secrets are in `bytes`, in order and apart.
    package func ranges(in bytes: [UInt8]) -> [Range<Int>] {
        if patterns.isEmpty { return [] }
        var found: [Range<Int>] = []
        for spelling in Spelling.all(of: bytes) {
            for pattern in candidates(in: spelling.bytes) { pattern.find(in: spelling, &found) }
        }
        found.sort { $0.lowerBound < $1.lowerBound }
        return found.reduce(into: []) { merged, range in
            if let last = merged.last, range.lowerBound < last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
    }

    /// `bytes` with each secret replaced by ``Redaction/mark``.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - limit: How many of them are wanted; what is behind them is looked at for secrets that begin before.
    /// - Returns: The bytes; of those behind `limit` none.
    package func redacted(_ bytes: [UInt8], upTo limit: Int = .max) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        for range in ranges(in: bytes) where range.lowerBound < limit {
            result += bytes[position..<range.lowerBound]
            result += Redaction.mark.utf8
            position = range.upperBound
        }
        if position < min(limit, bytes.count) { result += bytes[position..<min(limit, bytes.count)] }
        return result
    }

    /// `text` with each secret replaced by ``Redaction/mark``.
    package func redacted(_ text: String) -> String {
        if patterns.isEmpty { return text }
        let bytes = Array(text.utf8)
        let redacted = redacted(bytes)
        return redacted.count == bytes.count && redacted == bytes ? text : String(decoding: redacted, as: UTF8.self)
    }
}

/// One secret, and where its comparison resumes after a byte that differs (Knuth, Morris and Pratt's search).
private struct Pattern: Sendable {
    let bytes: [UInt8]
    /// The first four bytes.
    let beginning: UInt32
    private let resumptions: [Int]

    init(_ bytes: [UInt8]) {
        var resumptions = Array(repeating: 0, count: bytes.count)
        var matched = 0
        for index in bytes.indices.dropFirst() {
            while matched > 0, bytes[index] != bytes[matched] { matched = resumptions[matched - 1] }
            if bytes[index] == bytes[matched] { matched += 1 }
            resumptions[index] = matched
        }
        self.bytes = bytes
        self.resumptions = resumptions
        beginning = bytes.prefix(SecretFinder.shortest).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Adds to `found` where this secret is in the text that `spelling` was made of.
    func find(in spelling: Spelling, _ found: inout [Range<Int>]) {
        var matched = 0
        for (index, byte) in spelling.bytes.enumerated() {
            while matched > 0, byte != bytes[matched] { matched = resumptions[matched - 1] }
            if byte == bytes[matched] { matched += 1 }
            guard matched == bytes.count else { continue }
            found.append(spelling.start(of: index + 1 - matched)..<spelling.start(of: index + 1))
            matched = resumptions[matched - 1]
        }
        // The text may have been cut off within the secret.
        if matched >= SecretFinder.shortest {
            let count = spelling.bytes.count
            found.append(spelling.start(of: count - matched)..<spelling.start(of: count))
        }
    }
}

/// A text with its escapes decoded, and where each byte was before.
private struct Spelling {
    /// The most bytes that one byte of a secret is spelled with: the five of `%25XX`, each as `\u0025`.
    static let longestUnit = 30

    let bytes: [UInt8]
    /// The place of each byte in the text, and the text's end; nil when nothing has been decoded.
    private let starts: [Int]?

    private init(_ bytes: [UInt8], _ starts: [Int]? = nil) {
        self.bytes = bytes
        self.starts = starts
    }

    func start(of index: Int) -> Int { starts?[index] ?? index }

    /// Every reading of `text` in which a secret is looked for.
    static func all(of text: [UInt8]) -> [Spelling] {
        let plain = Spelling(text)
        var all = [plain]
        if let unescaped = plain.decoded(at: UInt8(ascii: "\\"), by: jsonEscape) { all.append(unescaped) }
        for spelling in all {
            guard let once = spelling.decoded(at: UInt8(ascii: "%"), by: percentEscape) else { continue }
            all.append(once)
            if let twice = once.decoded(at: UInt8(ascii: "%"), by: percentEscape) { all.append(twice) }
        }
        return all
    }

    /// This text with what `escape` reads at each `mark` decoded, without an escape that the end cuts off; nil when
    /// there is none.
    private func decoded(
        at mark: UInt8, by escape: (ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)?
    ) -> Spelling? {
        guard bytes.contains(mark) else { return nil }
        var (decoded, places): ([UInt8], [Int]) = ([], [])
        decoded.reserveCapacity(bytes.count)
        places.reserveCapacity(bytes.count + 1)
        var position = 0
        while position < bytes.count {
            if bytes[position] == mark {
                guard !Self.isCutOff(bytes[position...]) else { break }
                if let unit = escape(bytes[position...]) {
                    decoded += unit.decoded
                    places += Array(repeating: start(of: position), count: unit.decoded.count)
                    position += unit.count
                    continue
                }
            }
            decoded.append(bytes[position])
            places.append(start(of: position))
            position += 1
        }
        places.append(start(of: bytes.count))
        return Spelling(decoded, places)
    }

    /// Whether `text` is the beginning of an escape and nothing else.
    private static func isCutOff(_ text: ArraySlice<UInt8>) -> Bool {
        let digits: Int
        switch (text.first, text.dropFirst().first) {
        case (UInt8(ascii: "%"), _): digits = 1
        case (_, nil): return true
        case (_, UInt8(ascii: "u")): digits = 2
        default: return false
        }
        let wanted = digits == 1 ? 3 : 6
        return text.count < wanted && text.dropFirst(digits).allSatisfy { Hex.value(of: $0) != nil }
    }

    /// The byte that `%XX` at the beginning of `text` stands for.
    private static func percentEscape(_ text: ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)? {
        number(in: text.dropFirst(), digits: 2).map { ([UInt8(truncatingIfNeeded: $0)], 3) }
    }

    /// What the escape of JSON at the beginning of `text` stands for (RFC 8259 §7).
    private static func jsonEscape(_ text: ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)? {
        guard let kind = text.dropFirst().first else { return nil }
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return ([kind], 2)
        case UInt8(ascii: "t"): return ([0x09], 2)
        case UInt8(ascii: "u"):
            guard let unit = number(in: text.dropFirst(2), digits: 4) else { return nil }
            if let scalar = Unicode.Scalar(unit) { return (Array(String(scalar).utf8), 6) }
            let low = text.dropFirst(6)
            guard unit < 0xDC00, low.starts(with: "\\u".utf8), let second = number(in: low.dropFirst(2), digits: 4),
                0xDC00..<0xE000 ~= second,
                let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (second - 0xDC00))
            else { return nil }
            return (Array(String(scalar).utf8), 12)
        default: return nil
        }
    }

    private static func number(in text: ArraySlice<UInt8>, digits: Int) -> UInt32? {
        guard text.count >= digits else { return nil }
        return text.prefix(digits).reduce(0 as UInt32?) { number, byte in
            guard let number, let digit = Hex.value(of: byte) else { return nil }
            return number << 4 | UInt32(digit)
        }
    }
}
