/// Builds a `JSONValue` from its parts in their order, without recursion.
struct JSONBuilder {
    private struct Container {
        let isObject: Bool
        let firstValue: Int
        let firstName: Int
    }

    /// The values that are complete and in no complete container yet; appending to one array copies none of them.
    private var values: [JSONValue] = []
    private var names: [(text: String, offset: Int)] = []
    private var open: [Container] = []

    /// The number of containers that are not complete.
    var depth: Int { open.count }

    /// Whether the innermost of these is an object; nil when there is none.
    var isInObject: Bool? { open.last?.isObject }

    /// The value, once it is complete.
    var value: JSONValue? { open.isEmpty ? values.last : nil }

    mutating func begin(isObject: Bool) {
        open.append(Container(isObject: isObject, firstValue: values.count, firstName: names.count))
    }

    mutating func append(_ value: JSONValue) {
        values.append(value)
    }

    /// Names the value that comes next; `offset` is the place for an error.
    mutating func name(_ text: String, at offset: Int = 0) {
        names.append((text, offset))
    }

    /// Completes the innermost container; returns the error of its names.
    @discardableResult
    mutating func end() -> JSONSyntaxError? {
        let container = open.removeLast()
        var (value, problem) = (JSONValue.null, JSONSyntaxError?.none)
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

    /// Adds a member whose name is new; of a repeated name the first member stays, as in `JSONDecoder` (decision 0024).
    private static func add(
        _ value: JSONValue, named name: (text: String, offset: Int), to members: inout [String: JSONValue]
    ) -> JSONSyntaxError? {
        guard let first = members.updateValue(value, forKey: name.text) else { return nil }
        members[name.text] = first
        // The dictionary compares by canonical equivalence, RFC 8259 §8.3 by code units.
        let isRepeated = members.index(forKey: name.text).map { members[$0].key.utf8.elementsEqual(name.text.utf8) }
        return isRepeated == true ? nil : JSONSyntaxError(problem: .equivalentNames, offset: name.offset)
    }
}
