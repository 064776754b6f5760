/// The query of a request: names and values in order, with repetitions.
///
/// Written as a dictionary literal, `["q": "swift", "page": 2, "flag": nil]`, it keeps order and duplicates. A nil value
/// gives a bare name, an empty one `name=`. Names and values are percent-encoded strictly (``PercentEncoding/strict``).
public struct QueryItems: Hashable, Sendable {
    /// One name and its value.
    public struct Item: Hashable, Sendable {
        /// The name, not yet percent-encoded.
        public var name: String
        /// The value, not yet percent-encoded; nil for a bare name.
        public var value: String?

        /// An item of `name` and `value`.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    private var items: [Item]

    /// A query of `items`, in their order.
    public init(_ items: some Sequence<Item>) {
        self.items = Array(items)
    }

    /// A query of Foundation's items, in their order.
    public init(_ items: some Sequence<URLQueryItem>) {
        self.items = items.map { Item(name: $0.name, value: $0.value) }
    }

    /// No query.
    public static let empty = QueryItems([] as [Item])

    /// Appends an item; a nil value gives a bare name.
    public mutating func add(_ name: String, _ value: (any QueryValue)?) {
        items.append(Item(name: name, value: value?.queryText))
    }

    /// Appends the items of `other` in their order.
    public mutating func add(_ other: QueryItems) {
        items.append(contentsOf: other.items)
    }

    /// The query as it will be sent, without a question mark; empty when there are no items.
    public func encoded(with encoding: PercentEncoding = .strict) -> String {
        guard !items.isEmpty else { return "" }
        return String(decoding: encodedBytes(with: encoding), as: UTF8.self)
    }

    /// The bytes of the items as they will be sent; spaces as `+` only where that is asked for, which is in forms.
    func encodedBytes(with encoding: PercentEncoding, spacesAsPlus: Bool = false) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(items.count * 24)
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "&")) }
            encoding.append(item.name, spacesAsPlus: spacesAsPlus, to: &bytes)
            guard let value = item.value else { continue }
            bytes.append(UInt8(ascii: "="))
            encoding.append(value, spacesAsPlus: spacesAsPlus, to: &bytes)
        }
        return bytes
    }
}

extension QueryItems: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// A query of the pairs, in their order; nil values give bare names.
    public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
        items = []
        items.reserveCapacity(elements.count)
        // By index: a copy of a pair is a copy of a boxed value.
        for index in elements.indices {
            items.append(Item(name: elements[index].0, value: elements[index].1?.queryText))
        }
    }

    /// A query of Foundation's items, in their order.
    public init(arrayLiteral elements: URLQueryItem...) {
        self.init(elements)
    }
}

extension QueryItems: RandomAccessCollection {
    /// The position of the first item.
    public var startIndex: Int { items.startIndex }

    /// The position after the last item.
    public var endIndex: Int { items.endIndex }

    /// The item at `position`, which must be a valid index.
    public subscript(position: Int) -> Item { items[position] }
}

extension QueryItems: CustomStringConvertible, CustomReflectable {
    /// The query as it will be sent, the values of secret items replaced by a mark.
    public var description: String {
        items.map(\.description).joined(separator: "&")
    }

    /// What `dump` sees: the redacted items, never a secret.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: items.map(\.description), displayStyle: .collection)
    }
}

extension QueryItems.Item: CustomStringConvertible, CustomReflectable {
    /// The name and the value, percent-encoded; the value of a secret item is replaced by a mark.
    public var description: String {
        let name = PercentEncoding.strict.encode(name)
        guard let value else { return name }
        let isSecret = Redaction.standard.queryNames.contains(CaseInsensitiveString(self.name))
        return name + "=" + (isSecret ? Redaction.mark : PercentEncoding.strict.encode(value))
    }

    /// What `dump` sees: the redacted item, never a secret.
    public var customMirror: Mirror { Mirror(self, children: ["item": description]) }
}

/// A value that may stand in a query.
///
/// Booleans read `true` and `false`; numbers as Swift prints them.
public protocol QueryValue {
    /// The value as text, not yet percent-encoded.
    var queryText: String { get }
}

extension QueryValue where Self: RawRepresentable, RawValue: QueryValue {
    /// The text of the raw value.
    public var queryText: String { rawValue.queryText }
}

extension QueryValue where Self: LosslessStringConvertible {
    /// The value as Swift prints it.
    public var queryText: String { description }
}

extension String: QueryValue {}
extension Substring: QueryValue {}
extension Bool: QueryValue {}
extension Int: QueryValue {}
extension Int8: QueryValue {}
extension Int16: QueryValue {}
extension Int32: QueryValue {}
extension Int64: QueryValue {}
extension UInt: QueryValue {}
extension UInt8: QueryValue {}
extension UInt16: QueryValue {}
extension UInt32: QueryValue {}
extension UInt64: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}

extension UUID: QueryValue {
    /// The identifier in its canonical form, upper case.
    public var queryText: String { uuidString }
}
