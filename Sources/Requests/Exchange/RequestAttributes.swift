/// Values that accompany a request to middleware and executors, stored by typed key.
///
/// The attributes that you define are never sent.
public struct RequestAttributes: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    /// Creates an empty collection of attributes.
    public init() {}

    /// Whether there are no attributes.
    package var isEmpty: Bool { values.isEmpty }

    /// The value for `key`; nil if it is not set.
    public subscript<Key: RequestAttributes.Key>(key: Key.Type) -> Key.Value? {
        get {
            guard !values.isEmpty, let value = values[ObjectIdentifier(key)] else { return nil }
            return value as? Key.Value
        }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

extension RequestAttributes: CustomReflectable {
    /// The mirror that `dump` prints: the number of attributes, because their values may be secrets.
    public var customMirror: Mirror { Mirror(self, children: ["count": values.count]) }
}

extension RequestAttributes {
    /// A type that identifies an attribute and the type of its value, typically an empty enum.
    public protocol Key: SendableMetatype {
        /// The type of the attribute's value.
        associatedtype Value: Sendable
    }
}
