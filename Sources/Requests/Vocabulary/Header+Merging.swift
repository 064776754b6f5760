extension Header {
    /// A header of the pairs of a dictionary, in the order of their names.
    ///
    /// Of names that differ only in case the last in byte order of their spelling is kept.
    public init(_ dictionary: [String: String]) {
        self.init()
        for (name, value) in dictionary.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            set(Field(name: Field.Name(name), value: value))
        }
    }

    /// Sets every field of `other`, whose names take the place of those that are here.
    ///
    /// A name that is on both sides keeps what `combine` makes of the two joined values, this header's first. Repeated
    /// fields of a name that is only in `other` stay repeated.
    public mutating func merge(_ other: Header, uniquingFieldsWith combine: (String, String) throws -> String) rethrows
    {
        var merged = self
        for field in other {
            guard let own = self[field.name] else {
                merged.add(field)
                continue
            }
            guard let theirs = other[field.name] else { continue }
            merged.set(Field(name: field.name, value: try combine(own, theirs)))
        }
        self = merged
    }

    /// This header with `other` merged into it, as ``merge(_:uniquingFieldsWith:)`` does.
    public func merging(_ other: Header, uniquingFieldsWith combine: (String, String) throws -> String) rethrows
        -> Header
    {
        var copy = self
        try copy.merge(other, uniquingFieldsWith: combine)
        return copy
    }
}
