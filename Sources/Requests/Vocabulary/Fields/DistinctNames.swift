/// Names that have been read, to find the repeated ones in constant time; case is ignored for ASCII letters.
struct DistinctNames {
    /// The first names; most fields have no more, and comparing these few is faster than hashing.
    private var few: [String] = []
    private var all: Set<CaseInsensitiveString> = []

    /// Adds `name`; false when it was there already.
    mutating func insert(_ name: String) -> Bool {
        if few.count < 8 {
            guard !few.contains(where: { ASCIIFolding.areEqual($0, name) }) else { return false }
            few.append(name)
            return true
        }
        if all.isEmpty { all = Set(few.map { CaseInsensitiveString($0) }) }
        return all.insert(CaseInsensitiveString(name)).inserted
    }
}
