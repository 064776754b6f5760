/// The ordered fields of a message, which may be repeated (RFC 9110 §5).
///
/// Repeated fields stay separate; reading by name returns one value, joined as RFC 9110 §5.3 allows. Two headers are
/// equal if they have equal fields in the same order.
public struct Header: Sendable {
    private enum Storage: Sendable {
        case fields([Field])
        /// Fields as they were received, until the first change.
        case received(ReceivedFields)
    }

    // One reference in either case, because messages are copied often (decision 0015).
    private var storage: Storage

    /// Creates a header with `fields` in their order, repeated names included.
    public init(_ fields: [Field]) {
        storage = .fields(fields)
    }

    /// Creates a header from received fields.
    package init(_ received: ReceivedFields) {
        storage = .received(received)
    }

    /// Changes the fields in place, after converting received fields to an array.
    private mutating func change(_ body: (inout [Field]) -> Void) {
        var fields = list
        // Releases the storage's reference, so that `fields` is unique and `body` changes it without a copy.
        storage = .fields([])
        body(&fields)
        storage = .fields(fields)
    }

    /// Creates a header with `fields` in their order, repeated names included.
    public init(_ fields: Field...) {
        self.init(fields)
    }

    /// Creates an empty header.
    public init() {
        self.init([])
    }

    /// An empty header.
    public static var empty: Header { Header([]) }

    /// The joined value of the fields named `name`, or nil if there are none.
    ///
    /// Values are joined with `,`; values of Cookie that are not empty are joined with `; `. Values of Set-Cookie
    /// cannot be joined; the subscript returns the first. Setting a value replaces all fields of that name with one;
    /// setting nil removes them.
    public subscript(name: Field.Name) -> String? {
        get {
            guard let first = index(of: name) else { return nil }
            var joined = value(at: first)
            guard name != .setCookie else { return joined }
            var last = first
            while let next = index(of: name, after: last) {
                Self.append(value(at: next), to: &joined, of: name)
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

    /// Joins another value of the fields named `name` to `joined` (RFC 9110 §5.3, RFC 6265 §5.4).
    private static func append(_ value: String, to joined: inout String, of name: Field.Name) {
        guard name == .cookie else { return joined += "," + value }
        // Empty values contain no cookies, and a separator without a cookie is malformed.
        joined += joined.isEmpty || value.isEmpty ? value : "; " + value
    }

    /// Returns the position of the first field named `name` after `index`, or nil if there is none.
    private func index(of name: Field.Name, after index: Int = -1) -> Int? {
        switch storage {
        case .received(let received): received.firstIndex(of: name, from: index + 1)
        // By position: iterating would copy each field.
        case .fields(let fields): (index + 1..<fields.count).first { fields[$0].name == name }
        }
    }

    // Received fields return the value alone, without a `Field` and the string of its name.
    private func value(at index: Int) -> String {
        switch storage {
        case .received(let received): received.value(at: index)
        case .fields(let fields): fields[index].value
        }
    }

    /// Returns the position of the first field named `name`, or nil if there is none.
    public func firstIndex(of name: Field.Name) -> Int? { index(of: name) }

    /// Returns the values of the fields named `name`, in order, one for each field.
    public func values(of name: Field.Name) -> [String] {
        var values: [String] = []
        var last = -1
        while let next = index(of: name, after: last) {
            values.append(value(at: next))
            last = next
        }
        return values
    }

    /// The fields as an array, which is iterated without a call for each field.
    package var list: [Field] {
        switch storage {
        case .fields(let fields): fields
        case .received(let received): (0..<received.count).map { received[$0] }
        }
    }

    /// The error of the first field that cannot be sent, and the name of the field; nil if all fields are valid.
    ///
    /// An invalid name must be escaped before it is shown.
    var problem: (RequestError.InvalidRequest, Field.Name?)? {
        // Most received fields are valid, and are checked without converting them to an array.
        if case .received(let received) = storage, received.isValid { return nil }
        guard case .fields(let fields) = storage else { return Header(list).problem }
        // By position: iterating would copy each field.
        for index in fields.indices {
            guard fields[index].name.isValid else { return (.invalidFieldName, fields[index].name) }
            if fields[index].name == .authorization, BearerToken.problem(ofAuthorization: fields[index].value) != nil {
                return (.invalidBearerToken, .authorization)
            }
            guard Token.isFieldValue(fields[index].value) else { return (.invalidFieldValue, fields[index].name) }
        }
        return nil
    }

    /// Returns whether the header contains a field named `name`.
    public func contains(_ name: Field.Name) -> Bool { index(of: name) != nil }

    /// Returns whether the header contains a field whose name satisfies `condition`.
    private func containsField(named condition: (Field.Name) -> Bool) -> Bool {
        switch storage {
        case .received(let received): (0..<received.count).contains { condition(received.name(at: $0)) }
        case .fields(let fields): fields.indices.contains { condition(fields[$0].name) }
        }
    }

    /// Returns whether the header contains a field whose name occurs in `other`.
    package func containsAny(of other: Header) -> Bool {
        guard !isEmpty, case .fields(let others) = other.storage else {
            return !isEmpty && other.contains { contains($0.name) }
        }
        return others.indices.contains { contains(others[$0].name) }
    }

    /// Calls `read` with the value bytes of the only field named `name`, and returns its result.
    ///
    /// - Parameters:
    ///   - name: The name of the field.
    ///   - read: A function that reads the bytes, which are valid only during the call.
    /// - Returns: The result of `read`, or nil if there is no such field or more than one.
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
    /// Appends `field` and keeps existing fields of the same name.
    public mutating func add(_ field: Field) {
        change { fields in
            // Most headers have several fields; 4 avoid repeated reallocation.
            if fields.isEmpty { fields.reserveCapacity(4) }
            fields.append(field)
        }
    }

    /// Appends `newFields` in their order and keeps existing fields of the same names.
    public mutating func add(_ newFields: some Sequence<Field>) {
        change { $0.append(contentsOf: newFields) }
    }

    /// Sets `field` as the only field of its name.
    ///
    /// If the header contains fields of that name, the new value takes the position and the spelling of the first.
    /// Otherwise, the field is appended.
    public mutating func set(_ field: Field) {
        guard let first = index(of: field.name) else { return change { $0.append(field) } }
        let isRepeated = index(of: field.name, after: first) != nil
        change { fields in
            fields[first] = Field(name: fields[first].name, value: field.value)
            guard isRepeated else { return }
            fields = fields[...first] + fields[(first + 1)...].filter { $0.name != field.name }
        }
    }

    /// Removes all fields named `name`.
    ///
    /// - Parameter name: The name of the fields.
    /// - Returns: A field with the spelling of the first removed field and the joined value, or nil if there was none.
    @discardableResult
    public mutating func remove(_ name: Field.Name) -> Field? {
        guard let first = index(of: name), let value = self[name] else { return nil }
        let spelling = self[first].name
        change { $0.removeAll { $0.name == name } }
        return Field(name: spelling, value: value)
    }

    /// Removes the fields that satisfy `condition`.
    public mutating func removeAll(where condition: (Field) -> Bool) {
        let fields = list
        // Most headers have no such field, and an unchanged storage stays shared with its copies.
        guard let first = fields.firstIndex(where: condition) else { return }
        storage = .fields(fields[..<first] + fields[(first + 1)...].filter { !condition($0) })
    }

    /// Removes the fields whose names satisfy `condition`, without converting received fields to an array.
    package mutating func removeFields(named condition: (Field.Name) -> Bool) {
        guard containsField(named: condition) else { return }
        switch storage {
        case .received(var received):
            received.removeAll(where: condition)
            storage = .received(received)
        case .fields: removeAll { condition($0.name) }
        }
    }

    /// The total number of bytes in all names and values.
    package var byteCount: Int {
        switch storage {
        case .received(let received): received.byteCount
        case .fields(let fields): fields.reduce(0) { $0 + $1.name.rawValue.utf8.count + $1.valueBytes.count }
        }
    }

    /// Returns this header with `field` appended.
    public func adding(_ field: Field) -> Header {
        var copy = self
        copy.add(field)
        return copy
    }

    /// Returns this header with `field` as the only field of its name.
    public func setting(_ field: Field) -> Header {
        var copy = self
        copy.set(field)
        return copy
    }

    /// Returns this header without the fields named `name`.
    public func removing(_ name: Field.Name) -> Header {
        var copy = self
        copy.remove(name)
        return copy
    }

    /// Reserves storage for `capacity` fields.
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
    /// Returns whether both headers have equal fields in the same order.
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

extension Header: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, CustomStringConvertible, CustomReflectable
{
    /// Creates a header with the fields in their order, repeated names included.
    public init(arrayLiteral elements: Field...) {
        self.init(elements)
    }

    /// Creates a header with the names and values in their order, repeated names included.
    public init(dictionaryLiteral elements: (Field.Name, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }

    /// The fields by name, with repeated ones joined as when reading by name, under the first spelling.
    public var dictionaryValue: [String: String] {
        var positions: [Field.Name: Int] = [:]
        var joined: [Field] = []
        for field in self {
            // Linear: reading by name for each of n fields would take n² comparisons.
            guard let position = positions[field.name] else {
                positions[field.name] = joined.count
                joined.append(field)
                continue
            }
            if field.name != .setCookie { Self.append(field.value, to: &joined[position].value, of: field.name) }
        }
        return joined.reduce(into: [:]) { $0[$1.name.rawValue] = $1.value }
    }

    /// One `Name: value` line for each field, with secret values replaced by ``Redaction/placeholder``.
    public var description: String {
        map(\.description).joined(separator: "\n")
    }

    /// The mirror that `dump` prints: the redacted lines.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: map(\.description), displayStyle: .collection)
    }
}
