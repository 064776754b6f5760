/// The rules of a public suffix list (publicsuffix.org).
struct SuffixRules: Sendable {
    private var names: Set<ByteText> = []
    /// The domains whose direct subdomains are all public suffixes.
    private var parents: Set<ByteText> = []
    private var exceptions: Set<ByteText> = []

    init(_ text: String) {
        for line in text.splitBytes(at: "\n") {
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 || byte == 0x0D }
            // A rule ends at the first white space.
            let rule = Substring(line.utf8.drop(while: isBlank).prefix { !isBlank($0) })
            guard !rule.isEmpty, !rule.hasBytePrefix("//") else { continue }
            add(rule)
        }
    }

    private mutating func add(_ rule: Substring) {
        if rule.hasBytePrefix("!") {
            insert(rule.droppingFirstBytes(1), into: &exceptions)
        } else if rule.hasBytePrefix("*.") {
            insert(rule.droppingFirstBytes(2), into: &parents)
        } else {
            insert(rule, into: &names)
        }
    }

    private func insert(_ name: Substring, into set: inout Set<ByteText>) {
        let isDotted = name.hasBytePrefix(".")
        let labels = name.droppingFirstBytes(isDotted ? 1 : 0).splitBytes(at: ".")
        set.insert(ByteText(labels.map { Punycode.label(String($0)) }.joined(separator: ".")))
    }

    /// Returns whether `domain`, in lower case, is a public suffix.
    func contains(_ domain: String) -> Bool {
        let name = ByteText(domain)
        if exceptions.contains(name) { return false }
        guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return true }
        let parent = ByteText(String(domain[domain.utf8.index(after: dot)...]))
        return names.contains(name) || parents.contains(parent)
    }
}
