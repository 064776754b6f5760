extension RequestParameters {
    /// The parameters that `value` encodes as, in the order it encodes them; the members of a `Dictionary` are sorted.
    ///
    /// Dates and bytes stay what they are, so that a ``ParameterFormat`` says how they read. A nil that the value leaves
    /// out, as synthesised conformances do, is left out.
    ///
    /// - Throws: ``InvalidParameters/withoutNames`` for a scalar or an array, ``InvalidParameters/tooDeeplyNested``, or what
    ///   the value throws.
    public init(encoding value: some Encodable) throws {
        guard case .nested(let parameters) = try ParameterNode.value(of: value, path: []) else {
            throw InvalidParameters.withoutNames
        }
        self = parameters
    }
}

/// What one value has encoded so far; shared by the containers that fill it.
private final class ParameterNode {
    private enum Content {
        case nothing
        case scalar(ParameterValue)
        case named([(String, ParameterNode)])
        case elements([ParameterNode])
    }

    private static let deepest = 512
    let path: [any CodingKey]
    private var content = Content.nothing

    init(path: [any CodingKey]) {
        self.path = path
    }

    /// What `value` encodes as.
    static func value(of value: some Encodable, path: [any CodingKey]) throws -> ParameterValue {
        let node = ParameterNode(path: path)
        try node.encode(value)
        return node.value
    }

    var value: ParameterValue {
        switch content {
        case .nothing: .nested(.empty)
        case .scalar(let value): value
        case .named(let members): .nested(RequestParameters(members.map { ($0.0, $0.1.value) }))
        case .elements(let elements): .array(elements.map(\.value))
        }
    }

    var count: Int {
        if case .elements(let elements) = content { elements.count } else { 0 }
    }

    func set(_ value: ParameterValue) { content = .scalar(value) }

    func beginNamed() {
        if case .nothing = content { content = .named([]) }
    }

    func beginElements() {
        if case .nothing = content { content = .elements([]) }
    }

    func member(_ key: any CodingKey) -> ParameterNode {
        let node = ParameterNode(path: path + [key])
        if case .named(let members) = content { content = .named(members + [(key.stringValue, node)]) }
        return node
    }

    func element() -> ParameterNode {
        let node = ParameterNode(path: path + [ParameterName(intValue: count)])
        if case .elements(let elements) = content { content = .elements(elements + [node]) }
        return node
    }

    func encode<Value: Encodable>(_ value: Value) throws {
        guard path.count <= Self.deepest else { throw InvalidParameters.tooDeeplyNested }
        switch value {
        case let value as ParameterValue: set(value)
        case let value as RequestParameters: set(.nested(value))
        case let value as Date: set(.date(value))
        case let value as Data: set(.data(value))
        case let value as URL: set(.string(value.absoluteString))
        default:
            try value.encode(to: ParameterEncoder(node: self))
            if value is any UnorderedMembers, case .nested(let parameters) = self.value {
                set(.nested(parameters.sorted()))
            }
        }
    }
}

/// A collection of members that has no order of its own.
private protocol UnorderedMembers {}
extension Dictionary: UnorderedMembers {}

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
    func encode(_ value: Float) throws { node.set(.string(value.description)) }
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

    private func set(_ value: some FixedWidthInteger) {
        if let small = Int(exactly: value) {
            node.set(.integer(small))
        } else if let large = UInt64(exactly: value) {
            node.set(.unsigned(large))
        } else {
            node.set(.string(String(value)))
        }
    }
}

private struct ElementContainer: UnkeyedEncodingContainer {
    let node: ParameterNode
    var codingPath: [any CodingKey] { node.path }
    var count: Int { node.count }

    func encodeNil() throws { node.element().set(.null) }
    func encode(_ value: some Encodable) throws { try node.element().encode(value) }

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
