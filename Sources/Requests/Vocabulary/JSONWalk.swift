/// The parts of a `JSONValue` in their order, the members of an object in the order of their names; without recursion.
struct JSONWalk: Sequence, IteratorProtocol {
    enum Step {
        /// A scalar, or the beginning of a container; with its name when it is a member.
        case begin(JSONValue, name: String?, isFirst: Bool)
        /// The end of the innermost container.
        case end(isObject: Bool)
    }

    private struct Container {
        let names: [String]?
        let elements: [JSONValue]
        var next = 0
    }

    private var root: JSONValue?
    private var open: [Container] = []

    init(_ root: JSONValue) {
        self.root = root
    }

    mutating func next() -> Step? {
        if let root = root.take() { return begin(root, name: nil, isFirst: true) }
        guard let container = open.last else { return nil }
        let index = container.next
        guard index < container.elements.count else {
            open.removeLast()
            return .end(isObject: container.names != nil)
        }
        open[open.count - 1].next += 1
        return begin(container.elements[index], name: container.names?[index], isFirst: index == 0)
    }

    private mutating func begin(_ value: JSONValue, name: String?, isFirst: Bool) -> Step {
        switch value {
        case .array(let elements): open.append(Container(names: nil, elements: elements))
        case .object(let members):
            let sorted = members.sorted { $0.key < $1.key }
            open.append(Container(names: sorted.map(\.key), elements: sorted.map(\.value)))
        default: break
        }
        return .begin(value, name: name, isFirst: isFirst)
    }
}
