/// The fields of a message, in order, with repetitions (RFC 9110 §5).
///
/// A repeated field stays as many fields; reading it by name gives one value joined as RFC 9110 §5.3 allows.
/// Equality is that of the fields in their order.
public struct Header: Hashable, Sendable {
    private var fields: [Field]

    /// A header of `fields`, in their order; repeated names are kept.
    public init(_ fields: [Field]) {
        self.fields = fields
    }

    /// A header of `fields`, in their order; repeated names are kept.
    public init(_ fields: Field...) {
        self.init(fields)
    }

    /// A header without fields.
    public static var empty: Header { Header([]) }

    /// The joined value of the fields called `name`, or nil when there is none.
    ///
    /// Values are joined with `,`, those of Cookie with `; `; of Set-Cookie, which cannot be joined, it is the first.
    /// Setting replaces all fields of that name by one; setting nil removes them.
    public subscript(name: Field.Name) -> String? {
        get {
            guard let first = fields.firstIndex(where: { $0.name == name }) else { return nil }
            guard name != .setCookie, let next = index(of: name, after: first) else { return fields[first].value }
            let separator = name == .cookie ? "; " : ","
            return fields[next...].reduce(into: fields[first].value) { joined, field in
                if field.name == name { joined += separator + field.value }
            }
        }
        set {
            if let newValue {
                set(Field(name: name, value: newValue))
            } else {
                remove(name)
            }
        }
    }

    private func index(of name: Field.Name, after index: Int) -> Int? {
        fields[(index + 1)...].firstIndex { $0.name == name }
    }

    /// The values of the fields called `name`, in order, one for each field.
    public func values(of name: Field.Name) -> [String] {
        fields.lazy.filter { $0.name == name }.map(\.value)
    }

    /// Whether a field is called `name`.
    public func contains(_ name: Field.Name) -> Bool {
        fields.contains { $0.name == name }
    }
}

extension Header {
    /// Appends `field`; fields of the same name stay.
    public mutating func add(_ field: Field) {
        // Fields seldom come alone.
        if fields.isEmpty { fields.reserveCapacity(4) }
        fields.append(field)
    }

    /// Appends `newFields` in their order; fields of the same names stay.
    public mutating func add(_ newFields: some Sequence<Field>) {
        fields.append(contentsOf: newFields)
    }

    /// Makes `field` the only field of its name, in the place of the first it replaces, or last.
    ///
    /// The name keeps the spelling of the field that it replaces.
    public mutating func set(_ field: Field) {
        guard let first = fields.firstIndex(where: { $0.name == field.name }) else { return fields.append(field) }
        let spelling = fields[first].name
        fields[first] = Field(name: spelling, value: field.value)
        guard index(of: field.name, after: first) != nil else { return }
        fields = fields[...first] + fields[(first + 1)...].filter { $0.name != field.name }
    }

    /// Removes every field called `name`; gives the first of them, with the joined value, or nil when there was none.
    @discardableResult
    public mutating func remove(_ name: Field.Name) -> Field? {
        guard let first = first(where: { $0.name == name }), let value = self[name] else { return nil }
        fields.removeAll { $0.name == name }
        return Field(name: first.name, value: value)
    }

    /// Removes the fields for which `condition` holds.
    public mutating func removeAll(where condition: (Field) -> Bool) {
        // Most headers have none: then the storage stays shared.
        guard fields.contains(where: condition) else { return }
        fields.removeAll(where: condition)
    }

    /// This header with `field` appended.
    public func adding(_ field: Field) -> Header {
        var copy = self
        copy.add(field)
        return copy
    }

    /// This header with `field` as the only field of its name.
    public func setting(_ field: Field) -> Header {
        var copy = self
        copy.set(field)
        return copy
    }

    /// This header without the fields called `name`.
    public func removing(_ name: Field.Name) -> Header {
        var copy = self
        copy.remove(name)
        return copy
    }

    /// Makes room for `capacity` fields.
    public mutating func reserveCapacity(_ capacity: Int) {
        fields.reserveCapacity(capacity)
    }
}

extension Header: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { fields.startIndex }

    /// The position after the last field.
    public var endIndex: Int { fields.endIndex }

    /// The field at `position`, which must be a valid index.
    public subscript(position: Int) -> Field { fields[position] }
}

extension Header: ExpressibleByArrayLiteral, CustomStringConvertible, CustomReflectable {
    /// A header of the fields, in their order.
    public init(arrayLiteral elements: Field...) {
        self.init(elements)
    }

    /// The fields by name, repeated ones joined as reading by name does; the spelling is that of the first of its name.
    public var dictionaryValue: [String: String] {
        var dictionary: [String: String] = [:]
        var seen: Set<Field.Name> = []
        for field in fields where seen.insert(field.name).inserted {
            dictionary[field.name.rawValue] = self[field.name]
        }
        return dictionary
    }

    /// One `Name: value` line for each field; the values of secret fields are replaced by a mark.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }

    /// What `dump` sees: the redacted lines, never a secret.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: fields.map(\.description), displayStyle: .collection)
    }
}
