extension Header {
    /// Creates an empty header with capacity for `minimumCapacity` fields; a negative number counts as 0.
    public init(minimumCapacity: Int) {
        self.init()
        reserveCapacity(Swift.max(minimumCapacity, 0))
    }

    /// Sets `value` as the only value of `name` and returns the joined value it replaces, or nil if there was none.
    @discardableResult
    public mutating func updateValue(_ value: String, of name: Field.Name) -> String? {
        let replaced = self[name]
        set(Field(name: name, value: value))
        return replaced
    }

    /// Removes and returns the first field, or returns nil if the header is empty.
    @discardableResult
    public mutating func popFirst() -> Field? {
        isEmpty ? nil : remove(at: startIndex)
    }

    /// Removes and returns the field at `position`, which must be a valid index.
    ///
    /// - Parameter position: The index of the field. Other fields of the same name stay.
    /// - Returns: The removed field.
    @discardableResult
    public mutating func remove(at position: Int) -> Field {
        let field = self[position]
        self = Header(Array(self[..<position]) + self[(position + 1)...])
        return field
    }
}
