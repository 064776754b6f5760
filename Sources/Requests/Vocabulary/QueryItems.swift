/// The query of a request: ordered names and values, which may be repeated.
///
/// A dictionary literal such as `["q": "swift", "page": 2, "tags": ["a", "b"], "flag": nil]` keeps order and
/// duplicates. An array is sent as one item for each element, a nil value as a bare name (`?flag`), and an empty value
/// as `name=`. To leave out nil values, use ``with(nulls:)``. Names and values are percent-encoded with
/// ``PercentEncoding/strict``.
public struct QueryItems: Hashable, Sendable {
    /// A name and its value.
    public struct Item: Hashable, Sendable {
        /// The name, not yet percent-encoded.
        public var name: String
        /// The value, not yet percent-encoded, or nil for a bare name.
        public var value: String?

        /// Creates an item of `name` and `value`, neither percent-encoded.
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    var items: [Item]

    /// Creates a query with `items` in their order.
    public init(_ items: some Sequence<Item>) {
        self.items = Array(items)
    }

    /// Creates a query with Foundation's items in their order.
    public init(_ items: some Sequence<URLQueryItem>) {
        self.items = items.map { Item(name: $0.name, value: $0.value) }
    }

    /// An empty query.
    public static var empty: QueryItems { QueryItems([] as [Item]) }

    /// Appends an item, which is sent as a bare name if `value` is nil.
    public mutating func add(name: String, value: (any QueryValue)?) {
        switch value?.queryContent {
        case nil: items.append(Item(name: name, value: nil))
        case .text(let text): items.append(Item(name: name, value: text))
        case .list(let texts): add(name: name, texts: texts)
        }
    }

    /// Appends one item for each of `texts`.
    mutating func add(name: String, texts: [String]) {
        items.append(contentsOf: texts.map { Item(name: name, value: $0) })
    }

    /// Returns this query with its items without a value written in `style`: as a bare name, as `name=`, or left out.
    ///
    /// ```swift
    /// // Leaves out “page” if it is nil:
    /// request.with(query: ["q": text, "page": page], nulls: .dropped)
    /// ```
    public func with(nulls style: RequestParameters.Format.NullStyle) -> QueryItems {
        switch style {
        case .bareName: self
        case .emptyValue: QueryItems(items.map { Item(name: $0.name, value: $0.value ?? "") })
        case .dropped: QueryItems(items.filter { $0.value != nil })
        }
    }

    /// Appends the items of `other` in their order.
    public mutating func add(_ other: QueryItems) {
        items.append(contentsOf: other.items)
    }

    /// Returns the query as it is sent, without a question mark; empty if there are no items.
    public func encoded(with encoding: PercentEncoding = .strict) -> String {
        String(unsafeUninitializedCapacity: encodedCount(with: encoding)) { memory in
            var writer = ByteWriter(memory)
            write(encoding, with: &writer)
            return writer.count
        }
    }

    /// Returns the bytes of the items as they are sent, with spaces as `+` if `spacesAsPlus` is true, as in forms.
    func encodedBytes(with encoding: PercentEncoding, spacesAsPlus: Bool = false) -> [UInt8] {
        let capacity = encodedCount(with: encoding, spacesAsPlus: spacesAsPlus)
        return Array(unsafeUninitializedCapacity: capacity) { memory, count in
            var writer = ByteWriter(memory)
            write(encoding, spacesAsPlus: spacesAsPlus, with: &writer)
            count = writer.count
        }
    }

    /// Returns an upper bound for the number of bytes that ``write(_:spacesAsPlus:with:)`` writes.
    ///
    /// For a short query the bound is three times its length. A long query is counted, because that bound would waste
    /// memory.
    func encodedCapacity(with encoding: PercentEncoding) -> Int {
        let length = items.reduce(items.count) { $0 + $1.name.utf8.count + ($1.value.map { $0.utf8.count + 1 } ?? 0) }
        return length < 256 ? length * 3 : encodedCount(with: encoding)
    }

    /// Returns the number of bytes that ``write(_:spacesAsPlus:with:)`` writes.
    func encodedCount(with encoding: PercentEncoding, spacesAsPlus: Bool = false) -> Int {
        var count = Swift.max(items.count - 1, 0)
        for item in items {
            count += encoding.encodedCount(of: item.name, spacesAsPlus: spacesAsPlus)
            if let value = item.value { count += 1 + encoding.encodedCount(of: value, spacesAsPlus: spacesAsPlus) }
        }
        return count
    }

    /// Whether the encoded query is empty: there are no items, or only one with an empty name and no value.
    var isEmptyText: Bool {
        items.isEmpty || items.count == 1 && items[0].name.isEmpty && items[0].value == nil
    }

    /// Writes the items as they are sent, with spaces as `+` if `spacesAsPlus` is true.
    func write(_ encoding: PercentEncoding, spacesAsPlus: Bool = false, with writer: inout ByteWriter) {
        var isFirst = true
        for item in items {
            if !isFirst { writer.write(UInt8(ascii: "&")) }
            isFirst = false
            encoding.write(item.name, spacesAsPlus: spacesAsPlus, with: &writer)
            guard let value = item.value else { continue }
            writer.write(UInt8(ascii: "="))
            encoding.write(value, spacesAsPlus: spacesAsPlus, with: &writer)
        }
    }
}

extension QueryItems.Item {
    /// Returns whether the names and values are equal byte by byte.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.name.hasSameBytes(as: right.name) else { return false }
        switch (left.value, right.value) {
        case (nil, nil): return true
        case (let left?, let right?): return left.hasSameBytes(as: right)
        default: return false
        }
    }
}

extension QueryItems: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral {
    /// Creates a query with the pairs in their order; a pair with a nil value is sent as a bare name.
    public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
        items = []
        items.reserveCapacity(elements.count)
        // By index: an iterator would copy each existential value once more.
        for index in elements.indices {
            let (name, value) = elements[index]
            // One call for each value: every further one would copy the existential value once more.
            switch value?.queryContent {
            case nil: items.append(Item(name: name, value: nil))
            case .text(let text): items.append(Item(name: name, value: text))
            case .list(let texts): add(name: name, texts: texts)
            }
        }
    }

    /// Creates a query with Foundation's items in their order.
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
    /// The query as it is sent, with the values of secret items replaced by ``Redaction/placeholder``.
    public var description: String {
        items.map(\.description).joined(separator: "&")
    }

    /// The mirror that `dump` prints: the redacted items.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: items.map(\.description), displayStyle: .collection)
    }
}

extension QueryItems.Item: CustomStringConvertible, CustomReflectable {
    /// The name and the value, percent-encoded, with a secret value replaced by ``Redaction/placeholder``.
    public var description: String {
        let name = PercentEncoding.strict.encode(name)
        guard let value else { return name }
        return name + "="
            + (Redaction.standard.isSecret(self.name) ? Redaction.placeholder : PercentEncoding.strict.encode(value))
    }

    /// The mirror that `dump` prints: the redacted item.
    public var customMirror: Mirror { Mirror(self, children: ["item": description]) }
}

/// A value that a query can contain.
///
/// Booleans are written as `true` and `false`, numbers as Swift prints them, dates in UTC to the second
/// (`2026-11-20T11:00:00Z`, RFC 3339 §5.6), and arrays as one item for each element.
public protocol QueryValue: Sendable {
    /// The value as text, not yet percent-encoded.
    var queryText: String { get }

    /// The text of one item, or the texts of a list, one for each item. The default is one item with ``queryText``.
    var queryContent: QueryItems.Content { get }
}

extension QueryItems {
    /// The text or the texts of a value in a query, not yet percent-encoded.
    public enum Content: Sendable {
        /// The text of one item.
        case text(String)
        /// The texts of a list, one for each item.
        case list([String])
    }
}

extension QueryValue {
    /// One item with ``queryText``.
    public var queryContent: QueryItems.Content { .text(queryText) }
}

extension Array: QueryValue where Element: QueryValue {
    /// The texts of the elements, separated by commas.
    public var queryText: String { map(\.queryText).joined(separator: ",") }

    /// One item for each element, nested arrays included; none for an empty array.
    ///
    /// For other ways to write arrays, use ``RequestParameters/Format/arrays``.
    public var queryContent: QueryItems.Content {
        .list(
            flatMap { element in
                switch element.queryContent {
                case .text(let text): [text]
                case .list(let texts): texts
                }
            })
    }
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
extension Int128: QueryValue {}
extension UInt128: QueryValue {}
extension Double: QueryValue {}
extension Float: QueryValue {}

extension Decimal: QueryValue {
    /// The number with all of its digits, without separators and with a point, whatever the locale is.
    public var queryText: String { description }
}

extension Date: QueryValue {
    /// The date and time in UTC, to the second: `2026-11-20T11:00:00Z` (RFC 3339 §5.6).
    ///
    /// A date before the year 1 or after the year 9999, which RFC 3339 cannot express, is written as its seconds since
    /// 1970.
    public var queryText: String {
        ISO8601Text.canExpress(self) ? formatted(.iso8601) : timeIntervalSince1970.description
    }
}

extension UUID: QueryValue {
    /// The identifier in its canonical form, in upper case.
    public var queryText: String { uuidString }
}
