/// A search for secrets in text by their bytes, in every encoding that other software may have applied.
///
/// A secret is found unchanged, with all or some of its bytes percent-encoded once or twice, with hexadecimal digits in
/// either case, with the escapes of JSON or of JSON inside a JSON string, and in every order of these encodings. A
/// secret that the end of the text truncates is found if at least four bytes of it are present. The time is linear in
/// the length of the text, for each secret that may be in it.
package struct SecretFinder: Sendable {
    /// The minimum length in bytes of a secret that is searched for; shorter ones would match unrelated text.
    package static let shortest = 5

    /// The minimum number of bytes that identify a secret truncated by the end of the text.
    package static let shortestBeginning = 4

    private let patterns: [Pattern]
    /// For each hash, whether the first four bytes of any secret have it.
    ///
    /// Most texts contain none of these hashes.
    private var beginnings: [Bool] = []

    /// The number of bytes after a position that must be searched to find every secret that begins before it.
    ///
    /// It is at most 4 KiB: a longer secret is found as truncated by the end of these bytes.
    package let reach: Int

    /// Creates a finder of `secrets`; texts shorter than ``shortest`` are ignored.
    package init(_ secrets: some Sequence<String>) {
        let texts = Set(secrets.lazy.filter { $0.utf8.count >= Self.shortest }.map(ByteText.init))
        patterns = texts.map { Pattern(Array($0.text.utf8)) }
        reach = min(DecodedText.longestUnit * (patterns.map(\.bytes.count).max() ?? 0), 4 << 10)
        if patterns.isEmpty { return }
        beginnings = Array(repeating: false, count: 1 << 12)
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

    /// Returns `text` with each secret replaced by ``Redaction/placeholder``.
    package func redacted(_ text: String) -> String {
        if patterns.isEmpty { return text }
        let bytes = Array(text.utf8)
        let ranges = ranges(in: bytes)
        if ranges.isEmpty { return text }
        var result: [UInt8] = []
        var position = 0
        for range in ranges {
            result += bytes[position..<range.lowerBound]
            result += Redaction.placeholder.utf8
            position = range.upperBound
        }
        return String(decoding: result + bytes[position...], as: UTF8.self)
    }
}

/// A secret and the failure function of its search (Knuth, Morris and Pratt).
private struct Pattern: Sendable {
    let bytes: [UInt8]
    /// The first four bytes.
    let beginning: UInt32
    /// The number of matched bytes to continue with after a mismatch; index n applies after n + 1 matched bytes.
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
        beginning = bytes.prefix(SecretFinder.shortestBeginning).reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Appends to `found` the ranges of this secret in the text from which `text` was decoded.
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
        if matched >= SecretFinder.shortestBeginning {
            let count = text.bytes.count
            found.append(text.start(of: count - matched)..<text.start(of: count))
        }
    }
}

/// A text with its escapes decoded, and the original position of each byte.
private struct DecodedText {
    /// The maximum number of bytes that encode one byte of a secret.
    ///
    /// These are the five bytes of `%25XX`, each as `\u0025`, in which each byte is again `\u0025`.
    static let longestUnit = 180

    /// The number of times that each kind of escape is decoded.
    private static let depth = 2

    let bytes: [UInt8]
    /// The position of each byte, and of the end, in the original; nil if nothing has been decoded.
    private let starts: [Int]?
    /// The number of times that percent-encoding and JSON have been decoded.
    private var depths = (percent: 0, json: 0)

    private init(_ bytes: [UInt8], _ starts: [Int]? = nil) {
        self.bytes = bytes
        self.starts = starts
    }

    /// Returns the position in the original of the byte at `index`.
    func start(of index: Int) -> Int { starts?[index] ?? index }

    /// Returns `text` and all its decoded forms that must be searched for secrets.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - isBeginning: A function that returns whether four bytes are the first ones of a secret.
    /// - Returns: The forms, which are few for most texts: a form without escapes is not decoded further.
    static func all(of text: [UInt8], isBeginning: @escaping (UInt32) -> Bool) -> [DecodedText] {
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

    /// Returns copies of this text in which the escapes of one kind, percent or JSON, are decoded once more.
    private func decodedOnce(_ isBeginning: @escaping (UInt32) -> Bool) -> [DecodedText] {
        var forms: [DecodedText] = []
        if depths.percent < Self.depth, let form = decoded(.percent) {
            forms.append(form.counting(percent: depths.percent + 1, json: depths.json))
        }
        guard depths.json < Self.depth, let form = decoded(.json) else { return forms }
        forms.append(form.counting(percent: depths.percent, json: depths.json + 1))
        // A backslash directly before a secret is not part of it, but forms an escape with its first byte.
        let lookahead = Lookahead(percent: Self.depth - depths.percent, json: Self.depth - depths.json, isBeginning)
        if let restarted = decoded(.json, keeping: lookahead) {
            forms.append(restarted.counting(percent: depths.percent, json: depths.json + 1))
        }
        return forms
    }

    private func counting(percent: Int, json: Int) -> DecodedText {
        var form = self
        form.depths = (percent, json)
        return form
    }

    /// Returns this text with its escapes decoded; a truncated escape at the end is removed.
    ///
    /// - Parameters:
    ///   - escape: The kind of escapes.
    ///   - lookahead: Keeps backslashes before secrets; nil keeps none.
    /// - Returns: The decoded text; nil if it contains no escape, or if nothing is kept although there is a lookahead.
    private func decoded(_ escape: Escape, keeping lookahead: Lookahead? = nil) -> DecodedText? {
        let mark = escape.rawValue
        guard bytes.contains(mark) else { return nil }
        return bytes.withUnsafeBufferPointer { text in
            var (decoded, places): ([UInt8], [Int]) = ([], [])
            decoded.reserveCapacity(text.count)
            places.reserveCapacity(text.count + 1)
            var (position, runEnd, isChanged) = (0, 0, false)
            while position < text.count {
                if text[position] == mark {
                    guard !escape.isTruncated(text, at: position) else { break }
                    let unit = escape.unit(text, at: position)
                    // A backslash that forms no escape is part of every form, so only other backslashes are searched
                    // for.
                    let isKept = unit != nil && lookahead?.keepsBackslash(text, at: position, &runEnd) ?? false
                    if isKept { isChanged = true }
                    if !isKept, let unit {
                        let start = start(of: position)
                        for index in 0..<unit.count {
                            decoded.append(unit[index])
                            places.append(start)
                        }
                        position += unit.length
                        continue
                    }
                }
                decoded.append(text[position])
                places.append(start(of: position))
                position += 1
            }
            if lookahead != nil, !isChanged { return nil }
            places.append(start(of: text.count))
            return DecodedText(decoded, places)
        }
    }
}
