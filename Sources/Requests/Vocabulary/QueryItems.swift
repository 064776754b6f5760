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
        @inlinable
        public init(name: String, value: String?) {
            self.name = name
            self.value = value
        }
    }

    @usableFromInline var items: [Item]

    /// A query of `items`, in their order.
    public init(_ items: some Sequence<Item>) {
        self.items = Array(items)
    }

    /// A query of Foundation's items, in their order.
    public init(_ items: some Sequence<URLQueryItem>) {
        self.items = items.map { Item(name: $0.name, value: $0.value) }
    }

    /// No query.
    public static var empty: QueryItems { QueryItems([] as [Item]) }

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
        String(unsafeUninitializedCapacity: encodedCount(with: encoding)) { memory in
            var pen = BytePen(memory)
            write(encoding, with: &pen)
            return pen.count
        }
    }

    /// The bytes of the items as they will be sent; spaces as `+` only where that is asked for, which is in forms.
    func encodedBytes(with encoding: PercentEncoding, spacesAsPlus: Bool = false) -> [UInt8] {
        let capacity = encodedCount(with: encoding, spacesAsPlus: spacesAsPlus)
        return Array(unsafeUninitializedCapacity: capacity) { memory, count in
            var pen = BytePen(memory)
            write(encoding, spacesAsPlus: spacesAsPlus, with: &pen)
            count = pen.count
        }
    }

    /// How many bytes ``write(_:spacesAsPlus:with:)`` writes at most; exact where more would be a waste.
    func encodedCapacity(with encoding: PercentEncoding) -> Int {
        let length = items.reduce(items.count) { $0 + $1.name.utf8.count + ($1.value.map { $0.utf8.count + 1 } ?? 0) }
        return length < 256 ? length * 3 : encodedCount(with: encoding)
    }

    /// How many bytes ``write(_:spacesAsPlus:with:)`` writes.
    func encodedCount(with encoding: PercentEncoding, spacesAsPlus: Bool = false) -> Int {
        var count = Swift.max(items.count - 1, 0)
        for item in items {
            count += encoding.encodedCount(of: item.name, spacesAsPlus: spacesAsPlus)
            if let value = item.value { count += 1 + encoding.encodedCount(of: value, spacesAsPlus: spacesAsPlus) }
        }
        return count
    }

    /// Whether nothing is written: there are no items, or one without a name and a value.
    var isEmptyText: Bool {
        items.isEmpty || items.count == 1 && items[0].name.isEmpty && items[0].value == nil
    }

    /// Writes the items as they will be sent.
    func write(_ encoding: PercentEncoding, spacesAsPlus: Bool = false, with pen: inout BytePen) {
        var isFirst = true
        for item in items {
            if !isFirst { pen.write(UInt8(ascii: "&")) }
            isFirst = false
            encoding.write(item.name, spacesAsPlus: spacesAsPlus, with: &pen)
            guard let value = item.value else { continue }
            pen.write(UInt8(ascii: "="))
            encoding.write(value, spacesAsPlus: spacesAsPlus, with: &pen)
        }
    }
}

extension QueryItems.Item {
    /// Whether names and values are the same, byte for byte.
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
    /// A query of the pairs, in their order; nil values give bare names.
    @inlinable
    public init(dictionaryLiteral elements: (String, (any QueryValue)?)...) {
        items = []
        items.reserveCapacity(elements.count)
        // By index: an iterator would copy each boxed value once more.
        for index in elements.indices {
            let (name, value) = elements[index]
            items.append(Item(name: name, value: value?.queryText))
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
    @inlinable public var queryText: String { description }
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
