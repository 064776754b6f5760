/// The fields of a message, in order, with repetitions (RFC 9110 §5).
///
/// A repeated field stays as many fields; reading it by name gives one value joined as RFC 9110 §5.3 allows.
/// Equality is that of the fields in their order.
public struct Header: Sendable {
    private enum Storage: Sendable {
        case fields([Field])
        /// As they were received, until something is changed.
        case received(ReceivedFields)
    }

    // One reference: headers are copied wherever a message goes.
    private var storage: Storage

    /// A header of `fields`, in their order; repeated names are kept.
    public init(_ fields: [Field]) {
        storage = .fields(fields)
    }

    /// A header of fields that were received.
    package init(_ received: ReceivedFields) {
        storage = .received(received)
    }

    /// Changes the fields in place; those that were received are made first.
    private mutating func change(_ body: (inout [Field]) -> Void) {
        var fields = list
        // Who else refers to them makes them be copied, and here nobody does.
        storage = .fields([])
        body(&fields)
        storage = .fields(fields)
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
            guard let first = index(of: name) else { return nil }
            var joined = value(at: first)
            guard name != .setCookie else { return joined }
            let separator = name == .cookie ? "; " : ","
            var last = first
            while let next = index(of: name, after: last) {
                joined += separator + value(at: next)
                last = next
            }
            return joined
        }
        set {
            if let newValue {
                set(Field(name: name, value: newValue))
            } else {
                remove(name)
            }
        }
    }

    private func index(of name: Field.Name, after index: Int = -1) -> Int? {
        switch storage {
        case .received(let received): received.firstIndex(of: name, from: index + 1)
        case .fields(let fields): fields[(index + 1)...].firstIndex { $0.name == name }
        }
    }

    private func value(at index: Int) -> String {
        switch storage {
        case .received(let received): received.value(at: index)
        case .fields(let fields): fields[index].value
        }
    }

    /// The position of the first field called `name`; nil when there is none.
    public func firstIndex(of name: Field.Name) -> Int? { index(of: name) }

    /// The values of the fields called `name`, in order, one for each field.
    public func values(of name: Field.Name) -> [String] {
        var values: [String] = []
        var last = -1
        while let next = index(of: name, after: last) {
            values.append(value(at: next))
            last = next
        }
        return values
    }

    /// The fields as an array.
    var list: [Field] {
        switch storage {
        case .fields(let fields): fields
        case .received(let received): (0..<received.count).map { received[$0] }
        }
    }

    /// What is wrong with the first field that may not be sent, and its name where that can be told.
    var problem: (InvalidRequest, Field.Name?)? {
        for field in list {
            guard field.name.isValid else { return (.invalidFieldName, nil) }
            guard Token.isFieldValue(field.value) else { return (.invalidFieldValue, field.name) }
        }
        return nil
    }

    /// Whether a field is called `name`.
    public func contains(_ name: Field.Name) -> Bool { index(of: name) != nil }

    /// What `read` makes of the bytes of the only field called `name`; nil when there is none or several.
    func withOnlyValue<Result>(
        of name: Field.Name, _ read: (UnsafeBufferPointer<UInt8>) -> Result
    ) -> Result? {
        guard let first = index(of: name), index(of: name, after: first) == nil else { return nil }
        switch storage {
        case .received(let received): return received.withBytes(at: first) { _, value, _ in read(value) }
        case .fields(let fields):
            var value = fields[first].value
            return value.withUTF8(read)
        }
    }
}

extension Header {
    /// Appends `field`; fields of the same name stay.
    public mutating func add(_ field: Field) {
        change { fields in
            // Fields seldom come alone.
            if fields.isEmpty { fields.reserveCapacity(4) }
            fields.append(field)
        }
    }

    /// Appends `newFields` in their order; fields of the same names stay.
    public mutating func add(_ newFields: some Sequence<Field>) {
        change { $0.append(contentsOf: newFields) }
    }

    /// Makes `field` the only field of its name, in the place of the first it replaces, or last.
    ///
    /// The name keeps the spelling of the field that it replaces.
    public mutating func set(_ field: Field) {
        guard let first = index(of: field.name) else { return change { $0.append(field) } }
        let isRepeated = index(of: field.name, after: first) != nil
        change { fields in
            fields[first] = Field(name: fields[first].name, value: field.value)
            guard isRepeated else { return }
            fields = fields[...first] + fields[(first + 1)...].filter { $0.name != field.name }
        }
    }

    /// Removes every field called `name`; gives the first of them, with the joined value, or nil when there was none.
    @discardableResult
    public mutating func remove(_ name: Field.Name) -> Field? {
        guard let first = index(of: name), let value = self[name] else { return nil }
        let spelling = self[first].name
        change { $0.removeAll { $0.name == name } }
        return Field(name: spelling, value: value)
    }

    /// Removes the fields for which `condition` holds.
    public mutating func removeAll(where condition: (Field) -> Bool) {
        // Most headers have none: then the storage stays shared.
        guard list.contains(where: condition) else { return }
        change { $0.removeAll(where: condition) }
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
        change { $0.reserveCapacity(capacity) }
    }
}

extension Header: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { 0 }

    /// The position after the last field.
    public var endIndex: Int {
        switch storage {
        case .received(let received): received.count
        case .fields(let fields): fields.count
        }
    }

    /// The field at `position`, which must be a valid index.
    public subscript(position: Int) -> Field {
        switch storage {
        case .received(let received): received[position]
        case .fields(let fields): fields[position]
        }
    }
}

extension Header: Hashable {
    /// Whether the fields are the same, in the same order.
    public static func == (left: Self, right: Self) -> Bool {
        if case .fields(let left) = left.storage, case .fields(let right) = right.storage { return left == right }
        return left.count == right.count && left.elementsEqual(right)
    }

    /// Hashes the fields in their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for field in self { hasher.combine(field) }
    }
}

extension Header: ExpressibleByArrayLiteral, CustomStringConvertible, CustomReflectable {
    /// A header of the fields, in their order.
    public init(arrayLiteral elements: Field...) {
        self.init(elements)
    }

    /// The fields by name, repeated ones joined as reading by name does; the spelling is that of the first of its name.
    public var dictionaryValue: [String: String] {
        var places: [Field.Name: Int] = [:]
        var joined: [Field] = []
        for field in self {
            // By place: reading by name for each of many fields would be quadratic.
            guard let place = places[field.name] else {
                places[field.name] = joined.count
                joined.append(field)
                continue
            }
            if field.name != .setCookie { joined[place].value += (field.name == .cookie ? "; " : ",") + field.value }
        }
        return joined.reduce(into: [:]) { $0[$1.name.rawValue] = $1.value }
    }

    /// One `Name: value` line for each field; the values of secret fields are replaced by a mark.
    public var description: String {
        map(\.description).joined(separator: "\n")
    }

    /// What `dump` sees: the redacted lines, never a secret.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: map(\.description), displayStyle: .collection)
    }
}
