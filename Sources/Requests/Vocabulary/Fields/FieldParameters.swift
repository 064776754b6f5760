/// Names and values that belong to a part of a field's value, in order: `; rel="next"; title=x` (RFC 9110 §5.6.6).
///
/// Names compare without regard to ASCII case, values octet by octet; values are unquoted here and quoted on output where
/// they must be.
public struct FieldParameters: Sendable, ExpressibleByDictionaryLiteral {
    private var names: [String] = []
    private var values: [String] = []

    /// No parameters.
    public init() {}

    /// The parameters in the order they are written.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    /// The value of the first parameter called `name`; setting replaces it or appends it, nil removes it.
    public subscript(name: String) -> String? {
        get { index(of: name).map { values[$0] } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): values[index] = value
            case (let index?, nil):
                names.remove(at: index)
                values.remove(at: index)
            case (nil, let value?): append(name, value)
            case (nil, nil): break
            }
        }
    }

    /// Appends a parameter.
    public mutating func append(_ name: String, _ value: String) {
        names.append(name)
        values.append(value)
    }

    private func index(of name: String) -> Int? {
        names.firstIndex { ASCIIFolding.areEqual($0, name) }
    }
}

extension FieldParameters: Hashable {
    /// Whether both have the same names, ignoring ASCII case, and values, octet by octet, in the same order.
    public static func == (left: Self, right: Self) -> Bool {
        left.names.elementsEqual(right.names, by: ASCIIFolding.areEqual)
            && left.values.elementsEqual(right.values) { OctetText.areEqual($0, $1) }
    }

    /// Hashes the folded names and the octets of the values, so that equal parameters hash alike.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for name in names { ASCIIFolding.hash(name, into: &hasher) }
        for value in values { OctetText.hash(value, into: &hasher) }
    }
}

extension FieldParameters: RandomAccessCollection {
    /// The position of the first parameter.
    public var startIndex: Int { names.startIndex }

    /// The position after the last parameter.
    public var endIndex: Int { names.endIndex }

    /// The parameter at `position`, which must be a valid index.
    public subscript(position: Int) -> (name: String, value: String) { (names[position], values[position]) }
}
