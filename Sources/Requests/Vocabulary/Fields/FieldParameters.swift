/// The ordered parameters in a field value: `; rel="next"; title=x` (RFC 9110 §5.6.6).
///
/// Names are compared without regard to ASCII case, values octet by octet. Values have no quotation marks and escapes;
/// both are added where needed when a field value is written.
public struct FieldParameters: Sendable, ExpressibleByDictionaryLiteral {
    private struct Parameter: Sendable {
        let name: String
        var value: String
    }

    private var parameters: [Parameter] = []

    /// Creates empty parameters.
    public init() {}

    /// Creates parameters in the order of the literal.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(name: name, value: value) }
    }

    /// The value of the first parameter named `name`, or nil if there is none.
    ///
    /// Setting a value replaces the first parameter of that name or appends one; setting nil removes the first.
    public subscript(name: String) -> String? {
        get { index(of: name).map { parameters[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): parameters[index].value = value
            case (let index?, nil): parameters.remove(at: index)
            case (nil, let value?): add(name: name, value: value)
            case (nil, nil): break
            }
        }
    }

    /// Appends a parameter and keeps existing ones of the same name.
    public mutating func add(name: String, value: String) {
        parameters.append(Parameter(name: name, value: value))
    }

    private func index(of name: String) -> Int? {
        parameters.firstIndex { ASCIIFolding.areEqual($0.name, name) }
    }
}

extension FieldParameters: Hashable {
    /// Returns whether both have the same names, ignoring ASCII case, and the same values, in the same order.
    public static func == (left: Self, right: Self) -> Bool {
        left.parameters.elementsEqual(right.parameters) { left, right in
            ASCIIFolding.areEqual(left.name, right.name) && left.value.hasSameBytes(as: right.value)
        }
    }

    /// Hashes the folded names and the octets of the values, so that equal parameters hash alike.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for parameter in parameters {
            ASCIIFolding.hash(parameter.name, into: &hasher)
            parameter.value.hashBytes(into: &hasher)
        }
    }
}

extension FieldParameters: RandomAccessCollection {
    /// The position of the first parameter.
    public var startIndex: Int { parameters.startIndex }

    /// The position after the last parameter.
    public var endIndex: Int { parameters.endIndex }

    /// The parameter at `position`, which must be a valid index.
    public subscript(position: Int) -> (name: String, value: String) {
        (parameters[position].name, parameters[position].value)
    }
}
