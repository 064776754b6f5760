/// A set of names, compared without regard to ASCII case, which finds repeated names in constant time.
struct DistinctNames {
    /// The first eight names; most fields have no more, and comparing them is faster than hashing.
    private var firstNames: [String] = []
    /// All names, or empty if there are at most eight.
    private var allNames: Set<CaseInsensitiveString> = []

    /// Inserts `name` and returns whether it is new.
    mutating func insert(_ name: String) -> Bool {
        if firstNames.count < 8 {
            guard !firstNames.contains(where: { ASCIIFolding.areEqual($0, name) }) else { return false }
            firstNames.append(name)
            return true
        }
        if allNames.isEmpty { allNames = Set(firstNames.map { CaseInsensitiveString($0) }) }
        return allNames.insert(CaseInsensitiveString(name)).inserted
    }
}
