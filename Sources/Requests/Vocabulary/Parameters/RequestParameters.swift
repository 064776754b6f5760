/// The parameters of a request for queries, forms, JSON and property lists: names and values, which can be nested.
///
/// A dictionary literal keeps order and duplicates. Parameters created from a `Dictionary` are sorted by the UTF-8
/// bytes of their names, so that equal parameters result in equal bytes. Reading and merging compare names byte by
/// byte. A ``ParameterSet`` determines where parameters are sent. For flat queries, ``QueryItems`` is sufficient.
public struct RequestParameters: Hashable, Sendable {
    private var names: [String]
    private var values: [RequestParameters.Value]

    /// Creates parameters from `pairs` in their order.
    public init(_ pairs: some Sequence<(String, RequestParameters.Value)>) {
        names = []
        values = []
        for (name, value) in pairs { add(name: name, value: value) }
    }

    /// Creates parameters from the members of a dictionary, sorted by the UTF-8 bytes of their names.
    public init(_ members: [String: RequestParameters.Value]) {
        self.init(members.sorted { Self.precedes($0.key, $1.key) }.map { ($0.key, $0.value) })
    }

    /// Creates parameters from the items of a query in their order; values are strings, and bare names are null.
    public init(_ items: QueryItems) {
        self.init(items.map { ($0.name, $0.value.map(RequestParameters.Value.string) ?? .null) })
    }

    /// Empty parameters.
    public static let empty = RequestParameters([] as [(String, RequestParameters.Value)])

    /// The last value named `name`, or nil if there is none.
    ///
    /// Setting a value replaces the first one of that name and removes the others, or appends it. Setting nil removes
    /// all.
    public subscript(name: String) -> RequestParameters.Value? {
        get { names.lastIndex { $0.hasSameBytes(as: name) }.map { values[$0] } }
        set {
            let isNamed = { (other: String) in other.hasSameBytes(as: name) }
            let first = names.firstIndex(where: isNamed)
            for index in names.indices.reversed() where isNamed(names[index]) && (index != first || newValue == nil) {
                names.remove(at: index)
                values.remove(at: index)
            }
            guard let newValue else { return }
            if let first { values[first] = newValue } else { add(name: name, value: newValue) }
        }
    }

    /// Appends a value and keeps existing values of the same name.
    public mutating func add(name: String, value: RequestParameters.Value) {
        names.append(name)
        values.append(value)
    }

    /// Appends the parameters of `other`, which replace parameters with the same names.
    public mutating func merge(_ other: RequestParameters) {
        let replaced = Set(other.names.map(ByteText.init))
        let kept = filter { !replaced.contains(ByteText($0.name)) }
        self = RequestParameters((kept + Array(other)).map { ($0.name, $0.value) })
    }

    /// Returns the parameters sorted by the UTF-8 bytes of their names; parameters with one name keep their order.
    func sorted() -> RequestParameters {
        RequestParameters(
            enumerated().sorted {
                $0.element.name.hasSameBytes(as: $1.element.name)
                    ? $0.offset < $1.offset : Self.precedes($0.element.name, $1.element.name)
            }.map { ($0.element.name, $0.element.value) })
    }

    // By bytes: `<` of strings uses canonical order.
    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

extension RequestParameters: RandomAccessCollection {
    /// A name and its value.
    public typealias Element = (name: String, value: RequestParameters.Value)

    /// The position of the first parameter.
    public var startIndex: Int { 0 }

    /// The position after the last parameter.
    public var endIndex: Int { names.count }

    /// The parameter at `position`, which must be a valid index.
    public subscript(position: Int) -> Element { (names[position], values[position]) }
}

extension RequestParameters: ExpressibleByDictionaryLiteral {
    /// Creates parameters in the order of the literal, duplicates included.
    public init(dictionaryLiteral elements: (String, RequestParameters.Value)...) {
        self.init(elements)
    }
}

extension RequestParameters: Encodable {
    /// Encodes the parameters as an object; if a name is repeated, the last value is kept.
    ///
    /// - Parameter encoder: The encoder to write to.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: ParameterName.self)
        for (name, value) in self { try container.encode(value, forKey: ParameterName(stringValue: name)) }
    }
}

extension RequestParameters: CustomStringConvertible, CustomReflectable {
    /// The names, without the values, which may be secrets.
    public var description: String { "parameters \(names.joined(separator: ", "))" }

    /// The mirror that `dump` prints: the names.
    public var customMirror: Mirror { Mirror(self, children: ["names": names]) }
}

/// The name of a parameter, or the index of an element, as a coding key.
struct ParameterName: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) { stringValue = String(intValue) }
}
