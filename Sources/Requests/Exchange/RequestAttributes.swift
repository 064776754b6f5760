/// Values that travel with a request to middleware and executors, by typed key; never sent.
public struct RequestAttributes: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    /// No attributes.
    public init() {}

    /// The value for `key`, or nil when none is set.
    public subscript<Key: RequestAttributeKey>(key: Key.Type) -> Key.Value? {
        get {
            guard !values.isEmpty, let value = values[ObjectIdentifier(key)] else { return nil }
            return value as? Key.Value
        }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

extension RequestAttributes: CustomReflectable {
    /// What `dump` sees: how many attributes there are; their values may be secrets.
    public var customMirror: Mirror { Mirror(self, children: ["count": values.count]) }
}

/// Names one attribute of a request and its type; adopted by an empty enum.
public protocol RequestAttributeKey: SendableMetatype {
    /// The type of the attribute's value.
    associatedtype Value: Sendable
}
