/// A builder of a `JSONValue` from its parts in their order, without recursion.
struct JSONBuilder {
    /// An incomplete array or object, and the positions in `values` and `names` at which its content begins.
    private struct Container {
        let isObject: Bool
        let firstValue: Int
        let firstName: Int
    }

    /// The complete values whose containers are incomplete.
    ///
    /// All containers share one array: a value in nested arrays would be copied at each level.
    private var values: [JSONValue] = []
    private var names: [(text: String, offset: Int)] = []
    private var open: [Container] = []

    /// The number of incomplete containers.
    var depth: Int { open.count }

    /// Whether the innermost incomplete container is an object; nil if there is none.
    var isInObject: Bool? { open.last?.isObject }

    /// The value, or nil while it is incomplete.
    var value: JSONValue? { open.isEmpty ? values.last : nil }

    /// Begins an object or an array within the innermost container.
    mutating func begin(isObject: Bool) {
        open.append(Container(isObject: isObject, firstValue: values.count, firstName: names.count))
    }

    /// Appends a complete value to the innermost container.
    mutating func append(_ value: JSONValue) {
        values.append(value)
    }

    /// Sets the name of the next value; `offset` is its position in the text, for an error.
    mutating func name(_ text: String, at offset: Int = 0) {
        names.append((text, offset))
    }

    /// Completes the innermost container.
    ///
    /// Returns the first error in its names; nil if there is none.
    @discardableResult
    mutating func end() -> JSONValue.SyntaxError? {
        let container = open.removeLast()
        var (value, problem) = (JSONValue.null, JSONValue.SyntaxError?.none)
        if container.isObject {
            var members: [String: JSONValue] = [:]
            members.reserveCapacity(names.count - container.firstName)
            for (name, value) in zip(names[container.firstName...], values[container.firstValue...]) {
                problem = problem ?? Self.add(value, named: name, to: &members)
            }
            names.removeSubrange(container.firstName...)
            value = .object(members)
        } else {
            value = .array(Array(values[container.firstValue...]))
        }
        values.removeSubrange(container.firstValue...)
        values.append(value)
        return problem
    }

    /// Adds a member unless its name is repeated, because the first one is kept, as by `JSONDecoder` (decision 0024).
    ///
    /// - Returns: The error of a name that is canonically equivalent to another but has other bytes.
    private static func add(
        _ value: JSONValue, named name: (text: String, offset: Int), to members: inout [String: JSONValue]
    ) -> JSONValue.SyntaxError? {
        guard let first = members.updateValue(value, forKey: name.text) else { return nil }
        members[name.text] = first
        // The dictionary compares names by canonical equivalence, RFC 8259 §8.3 by code units.
        let isRepeated = members.index(forKey: name.text).map { members[$0].key.utf8.elementsEqual(name.text.utf8) }
        return isRepeated == true ? nil : JSONValue.SyntaxError(problem: .equivalentNames, offset: name.offset)
    }
}
