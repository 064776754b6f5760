extension Header {
    /// A header without fields and with room for `minimumCapacity` of them.
    public init(minimumCapacity: Int) {
        self.init()
        reserveCapacity(Swift.max(minimumCapacity, 0))
    }

    /// Makes `value` the only value of `name`; gives the joined value it replaces, nil when there was none.
    @discardableResult
    public mutating func updateValue(_ value: String, of name: Field.Name) -> String? {
        let replaced = self[name]
        set(Field(name: name, value: value))
        return replaced
    }

    /// Removes the first field, whatever its name; nil when there is none.
    @discardableResult
    public mutating func popFirst() -> Field? {
        isEmpty ? nil : remove(at: startIndex)
    }

    /// Removes the field at `position`, which must be a valid index; other fields of its name stay.
    @discardableResult
    public mutating func remove(at position: Int) -> Field {
        let field = self[position]
        self = Header(Array(self[..<position]) + self[(position + 1)...])
        return field
    }
}
