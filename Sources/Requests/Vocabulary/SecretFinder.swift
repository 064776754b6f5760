/// A search for secrets in text by their bytes, in every encoding that other software may have applied.
///
/// A secret is found unchanged, with all or some of its bytes percent-encoded once or twice, with hexadecimal digits in
/// either case, with the escapes of JSON or of JSON inside a JSON string, and in every order of these encodings. A
/// secret that the end of the text truncates is found if at least four bytes of it are present. The time is linear in
/// the length of the text, for each secret.
package struct SecretFinder: Sendable {
    /// The minimum number of bytes of a secret, or of its beginning at the end of a text.
    ///
    /// Shorter ones would match unrelated text.
    package static let shortest = 4

    private let patterns: [Pattern]
    /// Whether the first four bytes of any secret have a hash, by hash; most texts contain none of them.
    private var beginnings = Array(repeating: false, count: 1 << 12)

    /// The number of bytes after a position that must be searched to find every secret that begins before it.
    ///
    /// It is at most 4 KiB: a longer secret is found as truncated by the end of these bytes.
    package let reach: Int

    /// Creates a finder of `secrets`; those shorter than ``shortest`` are ignored.
    package init(_ secrets: some Sequence<String>) {
        let texts = Set(secrets.lazy.filter { $0.utf8.count >= Self.shortest }.map(ByteText.init))
        patterns = texts.map { Pattern(Array($0.text.utf8)) }
        reach = min(DecodedText.longestUnit * (patterns.map(\.bytes.count).max() ?? 0), 4 << 10)
        for pattern in patterns { beginnings[Self.hash(pattern.beginning)] = true }
    }

    // Fibonacci hashing: 2³² divided by the golden ratio. The upper 12 bits index the 4,096 elements of `beginnings`.
    private static func hash(_ beginning: UInt32) -> Int { Int((beginning &* 0x9E37_79B1) >> 20) }

    /// Returns the secrets whose first four bytes occur in `bytes`.
    private func candidates(in bytes: [UInt8]) -> [Pattern] {
        var (window, found): (UInt32, Set<UInt32>) = (0, [])
        for byte in bytes {
            window = window << 8 | UInt32(byte)
            if beginnings[Self.hash(window)] { found.insert(window) }
        }
        return found.isEmpty ? [] : patterns.filter { found.contains($0.beginning) }
    }

    /// Whether there are no secrets to find.
    package var isEmpty: Bool { patterns.isEmpty }

    /// Returns the ranges of secrets in `bytes`, in order and without overlaps.
    package func ranges(in bytes: [UInt8]) -> [Range<Int>] {
        if patterns.isEmpty { return [] }
        var found: [Range<Int>] = []
        let isBeginning: (UInt32) -> Bool = { window in
            beginnings[Self.hash(window)] && patterns.contains { $0.beginning == window }
        }
        for decodedText in DecodedText.all(of: bytes, isBeginning: isBeginning) {
            for pattern in candidates(in: decodedText.bytes) { pattern.find(in: decodedText, &found) }
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

    /// Returns `bytes` with each secret replaced by ``Redaction/placeholder``.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - limit: The number of bytes to redact and return. The bytes after it are only searched for the remainder of
    ///     secrets that begin before it.
    /// - Returns: The redacted bytes before `limit`.
    package func redacted(_ bytes: [UInt8], upTo limit: Int = .max) -> [UInt8] {
        var result: [UInt8] = []
        var position = 0
        for range in ranges(in: bytes) where range.lowerBound < limit {
            result += bytes[position..<range.lowerBound]
            result += Redaction.placeholder.utf8
            position = range.upperBound
        }
        if position < min(limit, bytes.count) { result += bytes[position..<min(limit, bytes.count)] }
        return result
    }

    /// Returns `text` with each secret replaced by ``Redaction/placeholder``.
    package func redacted(_ text: String) -> String {
        if patterns.isEmpty { return text }
        let bytes = Array(text.utf8)
        let redacted = redacted(bytes)
        return redacted.count == bytes.count && redacted == bytes ? text : String(decoding: redacted, as: UTF8.self)
    }
}

/// A secret and the failure function of its search (Knuth, Morris and Pratt).
private struct Pattern: Sendable {
    let bytes: [UInt8]
    /// The first four bytes.
    let beginning: UInt32
    /// The number of matched bytes to continue with after a mismatch, by the number matched before it less 1.
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

    /// Appends to `found` the ranges of this secret in the original of `text`.
    func find(in text: DecodedText, _ found: inout [Range<Int>]) {
        var matched = 0
        for (index, byte) in text.bytes.enumerated() {
            while matched > 0, byte != bytes[matched] { matched = resumptions[matched - 1] }
            if byte == bytes[matched] { matched += 1 }
            guard matched == bytes.count else { continue }
            found.append(text.start(of: index + 1 - matched)..<text.start(of: index + 1))
            matched = resumptions[matched - 1]
        }
        // The end of the text may have truncated the secret.
        if matched >= SecretFinder.shortest {
            let count = text.bytes.count
            found.append(text.start(of: count - matched)..<text.start(of: count))
        }
    }
}

/// A text with its escapes decoded, and the original position of each byte.
private struct DecodedText {
    /// The maximum number of bytes that encode one byte of a secret: the five of `%25XX`, each as `\u0025` in which
    /// each byte is again `\u0025`.
    static let longestUnit = 180

    /// The number of times that each kind of escape is decoded.
    private static let depth = 2

    let bytes: [UInt8]
    /// The position of each byte and of the end in the original, or nil if nothing has been decoded.
    private let starts: [Int]?
    /// The number of times that percent-encoding and JSON have been decoded.
    private var depths = (percent: 0, json: 0)

    private init(_ bytes: [UInt8], _ starts: [Int]? = nil) {
        self.bytes = bytes
        self.starts = starts
    }

    /// Returns the position in the original of the byte at `index`.
    func start(of index: Int) -> Int { starts?[index] ?? index }

    /// Returns `text` and all its decoded forms that are searched for secrets.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isBeginning: A function that returns whether four bytes are the first ones of a secret.
    /// - Returns: The forms, which are few for most texts: a form without escapes is not decoded further.
    static func all(of text: [UInt8], isBeginning: (UInt32) -> Bool) -> [DecodedText] {
        var all = [DecodedText(text)]
        var index = 0
        while index < all.count {
            for form in all[index].decodedOnce(isBeginning) {
                // Independent escapes result in the same form in both orders.
                guard !all.contains(where: { $0.bytes == form.bytes && $0.starts == form.starts }) else { continue }
                all.append(form)
            }
            index += 1
        }
        return all
    }

    /// Returns the forms of this text with one kind of escape decoded.
    private func decodedOnce(_ isBeginning: (UInt32) -> Bool) -> [DecodedText] {
        var forms: [DecodedText] = []
        if depths.percent < Self.depth, let form = decoded(at: UInt8(ascii: "%"), by: Self.percentEscape) {
            forms.append(form.counting(percent: depths.percent + 1, json: depths.json))
        }
        guard depths.json < Self.depth, let form = decoded(at: UInt8(ascii: "\\"), by: Self.jsonEscape) else {
            return forms
        }
        forms.append(form.counting(percent: depths.percent, json: depths.json + 1))
        // A backslash directly before a secret is not part of it, but forms an escape with its first byte.
        var isChanged = false
        let (percentLeft, jsonLeft) = (Self.depth - depths.percent, Self.depth - depths.json)
        let restarted = decoded(at: UInt8(ascii: "\\")) { text in
            let following = Self.beginning(of: text.dropFirst(), by: Self.jsonEscape)
            guard Self.begins(following, percent: percentLeft, json: jsonLeft - 1, isBeginning) else {
                return Self.jsonEscape(text)
            }
            isChanged = true
            return nil
        }
        if isChanged, let restarted {
            forms.append(restarted.counting(percent: depths.percent, json: depths.json + 1))
        }
        return forms
    }

    private func counting(percent: Int, json: Int) -> DecodedText {
        var form = self
        form.depths = (percent, json)
        return form
    }

    /// The number of decoded bytes that are examined for the beginning of a secret that is encoded once more.
    private static let beginningLimit = 24

    /// Returns whether `bytes`, or its form with escapes decoded at most as many times as stated, begins with a secret.
    private static func begins(
        _ bytes: [UInt8], percent: Int, json: Int, _ isBeginning: (UInt32) -> Bool
    ) -> Bool {
        let first = bytes.prefix(SecretFinder.shortest)
        guard first.count == SecretFinder.shortest else { return false }
        if isBeginning(first.reduce(0) { $0 << 8 | UInt32($1) }) { return true }
        if percent > 0, first.contains(UInt8(ascii: "%")) {
            let once = beginning(of: bytes[...], by: percentEscape)
            if begins(once, percent: percent - 1, json: json, isBeginning) { return true }
        }
        guard json > 0, first.contains(UInt8(ascii: "\\")) else { return false }
        return begins(beginning(of: bytes[...], by: jsonEscape), percent: percent, json: json - 1, isBeginning)
    }

    /// Returns the decoded beginning of `text`: four bytes, or up to ``beginningLimit`` if they contain escapes.
    private static func beginning(
        of text: ArraySlice<UInt8>, by escape: (ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)?
    ) -> [UInt8] {
        var (text, bytes, limit): (_, [UInt8], _) = (text, [], SecretFinder.shortest)
        while bytes.count < limit, let byte = text.first {
            if let unit = escape(text) {
                bytes += unit.decoded
                text = text.dropFirst(unit.count)
            } else {
                bytes.append(byte)
                text = text.dropFirst()
            }
            if bytes.last == UInt8(ascii: "\\") || bytes.last == UInt8(ascii: "%") { limit = beginningLimit }
        }
        return bytes
    }

    /// Returns this text with its escapes decoded, or nil if it contains no `mark`.
    ///
    /// - Parameters:
    ///   - mark: The first byte of every escape.
    ///   - escape: A function that decodes an escape at the beginning of a text and returns its length, or nil.
    /// - Returns: The decoded text, without an escape that the end truncates.
    private func decoded(
        at mark: UInt8, by escape: (ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)?
    ) -> DecodedText? {
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
        return DecodedText(decoded, places)
    }

    /// Returns whether `text` consists only of the beginning of an escape.
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

    /// Returns the byte of `%XX` at the beginning of `text`.
    private static func percentEscape(_ text: ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)? {
        guard text.first == UInt8(ascii: "%") else { return nil }
        return number(in: text.dropFirst(), digits: 2).map { ([UInt8(truncatingIfNeeded: $0)], 3) }
    }

    /// Returns the bytes of the JSON escape at the beginning of `text` (RFC 8259 §7).
    private static func jsonEscape(_ text: ArraySlice<UInt8>) -> (decoded: [UInt8], count: Int)? {
        guard text.first == UInt8(ascii: "\\"), let kind = text.dropFirst().first else { return nil }
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

    /// Returns the number of the first `digits` hexadecimal digits of `text`, or nil.
    private static func number(in text: ArraySlice<UInt8>, digits: Int) -> UInt32? {
        guard text.count >= digits else { return nil }
        return text.prefix(digits).reduce(0 as UInt32?) { number, byte in
            guard let number, let digit = Hex.value(of: byte) else { return nil }
            return number << 4 | UInt32(digit)
        }
    }
}
