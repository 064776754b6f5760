extension Header {
    /// Creates a header from the pairs of a dictionary, sorted by the bytes of their names.
    ///
    /// If names differ only in ASCII case, the header keeps the value of the last one in that order.
    public init(_ dictionary: [String: String]) {
        self.init()
        for (name, value) in dictionary.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            set(Field(name: Field.Name(name), value: value))
        }
    }

    /// Merges the fields of `other` into this header.
    ///
    /// Fields whose name is only in `other` are added and stay repeated.
    ///
    /// - Parameters:
    ///   - other: The header to merge.
    ///   - combine: A function that receives the joined values of a name in both headers, this header's first, and
    ///     returns the value to keep.
    /// - Throws: The error that `combine` throws. The header is then unchanged.
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

    /// Returns this header with `other` merged into it, as described for ``merge(_:uniquingFieldsWith:)``.
    public func merging(_ other: Header, uniquingFieldsWith combine: (String, String) throws -> String) rethrows
        -> Header
    {
        var copy = self
        try copy.merge(other, uniquingFieldsWith: combine)
        return copy
    }
}
