/// Names and values of a request, nested where they must be: for queries, forms, JSON and property lists alike.
///
/// Written as a dictionary literal it keeps order and duplicates; made of a `Dictionary` it is sorted by the UTF-8 of the
/// names, so that equal parameters give equal bytes. Reading and merging compare names byte for byte. Where they go is
/// said by ``ParameterSet``. For flat queries ``QueryItems`` does.
public struct RequestParameters: Hashable, Sendable {
    private var names: [String]
    private var values: [ParameterValue]

    /// Parameters of `pairs`, in their order.
    public init(_ pairs: some Sequence<(String, ParameterValue)>) {
        names = []
        values = []
        for (name, value) in pairs { add(name, value) }
    }

    /// The members of a dictionary, sorted by the UTF-8 of their names.
    public init(_ members: [String: ParameterValue]) {
        self.init(members.sorted { Self.precedes($0.key, $1.key) }.map { ($0.key, $0.value) })
    }

    /// The items of a query as text, in their order.
    public init(_ items: QueryItems) {
        self.init(items.map { ($0.name, $0.value.map(ParameterValue.string) ?? .null) })
    }

    /// No parameters.
    public static let empty = RequestParameters([] as [(String, ParameterValue)])

    /// The last value called `name`; nil when there is none.
    ///
    /// Setting replaces the first of that name, or appends, and removes the others; setting nil removes all.
    public subscript(name: String) -> ParameterValue? {
        get { names.lastIndex { $0.hasSameBytes(as: name) }.map { values[$0] } }
        set {
            let isNamed = { (other: String) in other.hasSameBytes(as: name) }
            let first = names.firstIndex(where: isNamed)
            for index in names.indices.reversed() where isNamed(names[index]) && (index != first || newValue == nil) {
                names.remove(at: index)
                values.remove(at: index)
            }
            guard let newValue else { return }
            if let first { values[first] = newValue } else { add(name, newValue) }
        }
    }

    /// Appends a value; one of the same name stays.
    public mutating func add(_ name: String, _ value: ParameterValue) {
        names.append(name)
        values.append(value)
    }

    /// Takes in the parameters of `other` after its own: of a name that both have only the values of `other` stay.
    public mutating func merge(_ other: RequestParameters) {
        let replaced = Set(other.names.map(ByteText.init))
        let kept = filter { !replaced.contains(ByteText($0.name)) }
        self = RequestParameters((kept + Array(other)).map { ($0.name, $0.value) })
    }

    /// The parameters with the names sorted by their UTF-8; those of one name keep their order.
    func sorted() -> RequestParameters {
        RequestParameters(
            enumerated().sorted {
                $0.element.name.hasSameBytes(as: $1.element.name)
                    ? $0.offset < $1.offset : Self.precedes($0.element.name, $1.element.name)
            }.map { ($0.element.name, $0.element.value) })
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

extension RequestParameters: RandomAccessCollection {
    /// One name and its value.
    public typealias Element = (name: String, value: ParameterValue)

    /// The position of the first parameter.
    public var startIndex: Int { 0 }

    /// The position after the last parameter.
    public var endIndex: Int { names.count }

    /// The parameter at `position`, which must be a valid index.
    public subscript(position: Int) -> Element { (names[position], values[position]) }
}

extension RequestParameters: ExpressibleByDictionaryLiteral {
    /// Parameters in the order they are written, duplicates kept.
    public init(dictionaryLiteral elements: (String, ParameterValue)...) {
        self.init(elements)
    }
}

extension RequestParameters: Encodable {
    /// Writes an object of the names and values; of a repeated name the last.
    ///
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: ParameterName.self)
        for (name, value) in self { try container.encode(value, forKey: ParameterName(stringValue: name)) }
    }
}

extension RequestParameters: CustomStringConvertible, CustomReflectable {
    /// The names; values may be secrets and are left out.
    public var description: String { "parameters \(names.joined(separator: ", "))" }

    /// What `dump` sees: the names.
    public var customMirror: Mirror { Mirror(self, children: ["names": names]) }
}

/// The name of a parameter as a coding key.
struct ParameterName: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) { stringValue = String(intValue) }
}
