extension RequestParameters {
    /// Creates the parameters that `value` encodes, in the order of encoding.
    ///
    /// The members of a `Dictionary` are sorted by their names, and the elements of a `Set` by their texts, so that
    /// equal values result in equal parameters.
    ///
    /// Dates and data are kept as such, so that a ``RequestParameters/Format`` determines how they are written. Numbers
    /// of any width and `Decimal` stay numbers, and a URL is its absolute string, as with `JSONEncoder`; other types
    /// have the structure that they have in JSON. A property that is nil is omitted if the value does not encode it, as
    /// in synthesized conformances.
    ///
    /// - Parameter value: The value to encode.
    /// - Throws: ``RequestParameters/ParameterError/withoutNames`` for a scalar or an array,
    ///   ``RequestParameters/ParameterError/keysWithoutNames`` for a dictionary whose keys cannot be names,
    ///   ``RequestParameters/ParameterError/durationWithoutUnit``,
    ///   ``RequestParameters/ParameterError/tooDeeplyNested``, ``RequestParameters/ParameterError/tooManyValues``, or
    ///   the error of the value.
    public init(encoding value: some Encodable) throws {
        let value = try ParameterNode.value(of: value, path: [])
        if let problem = value.problem { throw problem }
        guard case .nested(let parameters) = value.content else {
            throw RequestParameters.ParameterError.withoutNames
        }
        self = parameters
    }
}

/// The content that one value has encoded so far, shared by the containers that write to it.
private final class ParameterNode {
    private enum Content {
        case nothing
        case scalar(RequestParameters.Value)
        case named([(String, ParameterNode)])
        case elements([ParameterNode])
    }

    // The limit of `JSONValue`; without one, recursion could overflow the stack.
    private static let maximumDepth = 512
    let path: [any CodingKey]
    private var content = Content.nothing

    init(path: [any CodingKey]) {
        self.path = path
    }

    /// Returns the parameter value that `value` encodes.
    static func value(of value: some Encodable, path: [any CodingKey]) throws -> RequestParameters.Value {
        let node = ParameterNode(path: path)
        try node.encode(value)
        return node.value
    }

    /// The encoded content as a parameter value.
    var value: RequestParameters.Value {
        switch content {
        case .nothing: .nested(.empty)
        case .scalar(let value): value
        case .named(let members): .nested(RequestParameters(members.map { ($0.0, $0.1.value) }))
        case .elements(let elements): .array(elements.map(\.value))
        }
    }

    /// The number of elements in the array.
    var count: Int {
        if case .elements(let elements) = content { elements.count } else { 0 }
    }

    func set(_ value: RequestParameters.Value) { content = .scalar(value) }

    // A type may request its container several times, so existing content is kept.
    func beginNamed() {
        if case .nothing = content { content = .named([]) }
    }

    func beginElements() {
        if case .nothing = content { content = .elements([]) }
    }

    /// Appends a member and returns its node.
    func member(_ key: any CodingKey) -> ParameterNode {
        let node = ParameterNode(path: path + [key])
        guard case .named(var members) = content else { return node }
        // The array must have one reference only, or appending would copy it.
        content = .nothing
        members.append((key.stringValue, node))
        content = .named(members)
        return node
    }

    /// Appends an element and returns its node.
    func element() -> ParameterNode {
        let node = ParameterNode(path: path + [ParameterName(intValue: count)])
        guard case .elements(var elements) = content else { return node }
        content = .nothing
        elements.append(node)
        content = .elements(elements)
        return node
    }

    /// Returns values sorted by their texts in a query.
    private static func sorted(_ values: [RequestParameters.Value]) throws -> [RequestParameters.Value] {
        var format = RequestParameters.Format.standard
        // A date of any year has an order; the format of the request determines whether it has a text.
        format.dates = .custom { $0.timeIntervalSince1970.description }
        return try values.map { value in
            let items = try format.items(of: ["": value])
            return (text: items.map { "\($0.name)=\($0.value ?? "")" }.joined(separator: "&"), value: value)
        }.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }.map(\.value)
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        guard path.count <= Self.maximumDepth else { throw RequestParameters.ParameterError.tooDeeplyNested }
        switch value {
        // These types would lose their meaning if their conformance to `Encodable` encoded them.
        case let value as RequestParameters.Value:
            if let problem = value.problem { throw problem }
            set(value)
        case let value as RequestParameters: set(.nested(value))
        case let value as Date: set(.date(value))
        case let value as Data: set(.data(value))
        case let value as URL: set(.string(value.absoluteString))
        case is Duration: throw RequestParameters.ParameterError.durationWithoutUnit
        case let value as Decimal: set(value.isNaN ? .double(.nan) : .decimal(value))
        default:
            try value.encode(to: ParameterEncoder(node: self))
            if value is any UnorderedElements, case .array(let elements) = self.value.content {
                set(.array(try Self.sorted(elements)))
            }
            guard value is any UnorderedMembers else { return }
            // Keys that cannot be names are encoded as elements, alternating with the values, in random order.
            let members = self.value
            if let problem = members.problem { throw problem }
            guard case .nested(let parameters) = members.content else {
                throw RequestParameters.ParameterError.keysWithoutNames
            }
            set(.nested(parameters.sorted()))
        }
    }
}

/// A collection whose members have no order.
private protocol UnorderedMembers {}
extension Dictionary: UnorderedMembers {}

/// A collection whose elements have no order.
private protocol UnorderedElements {}
extension Set: UnorderedElements {}

private struct ParameterEncoder: Encoder {
    let node: ParameterNode
    var codingPath: [any CodingKey] { node.path }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.beginNamed()
        return KeyedEncodingContainer(NamedContainer<Key>(node: node))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.beginElements()
        return ElementContainer(node: node)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        ScalarContainer(node: node)
    }
}

private struct ScalarContainer: SingleValueEncodingContainer {
    let node: ParameterNode
    var codingPath: [any CodingKey] { node.path }

    func encodeNil() throws { node.set(.null) }
    func encode(_ value: Bool) throws { node.set(.bool(value)) }
    func encode(_ value: String) throws { node.set(.string(value)) }
    func encode(_ value: Double) throws { node.set(.double(value)) }
    // From its text: converted directly, the `Double` would have digits that the `Float` does not have.
    func encode(_ value: Float) throws { node.set(.double(Double(value.description) ?? Double(value))) }
    func encode(_ value: Int) throws { node.set(.integer(value)) }
    func encode(_ value: Int8) throws { node.set(.integer(Int(value))) }
    func encode(_ value: Int16) throws { node.set(.integer(Int(value))) }
    func encode(_ value: Int32) throws { node.set(.integer(Int(value))) }
    func encode(_ value: Int64) throws { set(value) }
    func encode(_ value: UInt) throws { set(value) }
    func encode(_ value: UInt8) throws { set(value) }
    func encode(_ value: UInt16) throws { set(value) }
    func encode(_ value: UInt32) throws { set(value) }
    func encode(_ value: UInt64) throws { set(value) }
    func encode(_ value: Int128) throws { set(value) }
    func encode(_ value: UInt128) throws { set(value) }
    func encode(_ value: some Encodable) throws { try node.encode(value) }

    /// Sets an integer of any width; the significand of `Decimal` has 128 bits, so it represents all of them.
    private func set(_ value: some FixedWidthInteger) {
        if let small = Int(exactly: value) {
            node.set(.integer(small))
        } else if let large = UInt64(exactly: value) {
            node.set(.unsigned(large))
        } else {
            node.set(Decimal(string: String(value)).map { .decimal($0) } ?? .string(String(value)))
        }
    }
}

private struct ElementContainer: UnkeyedEncodingContainer {
    let node: ParameterNode
    var codingPath: [any CodingKey] { node.path }
    var count: Int { node.count }

    func encodeNil() throws { node.element().set(.null) }
    func encode(_ value: some Encodable) throws { try node.element().encode(value) }
    // Without these two, the default implementations are called, which throw an error.
    func encode(_ value: Int128) throws { try node.element().encode(value) }
    func encode(_ value: UInt128) throws { try node.element().encode(value) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        ParameterEncoder(node: node.element()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        ParameterEncoder(node: node.element()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { ParameterEncoder(node: node.element()) }
}

private struct NamedContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: ParameterNode
    var codingPath: [any CodingKey] { node.path }

    func encodeNil(forKey key: Key) throws { node.member(key).set(.null) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try node.member(key).encode(value) }
    // Without these two, the default implementations are called, which throw an error.
    func encode(_ value: Int128, forKey key: Key) throws { try node.member(key).encode(value) }
    func encode(_ value: UInt128, forKey key: Key) throws { try node.member(key).encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        ParameterEncoder(node: node.member(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        ParameterEncoder(node: node.member(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { ParameterEncoder(node: node.member(ParameterName(stringValue: "super"))) }
    func superEncoder(forKey key: Key) -> any Encoder { ParameterEncoder(node: node.member(key)) }
}
