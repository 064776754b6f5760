/// A depth-first traversal of a `JSONValue` without recursion, with the members of objects sorted by name.
struct JSONWalk: Sequence, IteratorProtocol {
    /// One event of the traversal.
    enum Event {
        /// A scalar or the beginning of a container, with its name if it is a member of an object.
        case begin(JSONValue, name: String?, isFirst: Bool)
        /// The end of the innermost container.
        case end(isObject: Bool)
    }

    /// An open container and the index of its next element; `names` is nil for an array.
    private struct Container {
        let names: [String]?
        let elements: [JSONValue]
        var next = 0
    }

    private var root: JSONValue?
    private var open: [Container] = []

    /// Creates a traversal of `root`.
    init(_ root: JSONValue) {
        self.root = root
    }

    /// Returns the next event, or nil at the end.
    mutating func next() -> Event? {
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

    /// Opens `value` if it is a container, and returns its event.
    private mutating func begin(_ value: JSONValue, name: String?, isFirst: Bool) -> Event {
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
