/// The tags and the text of an element and its descendants in document order, without recursion.
struct XMLWalk: Sequence, IteratorProtocol {
    enum Event {
        case start(XMLValue)
        case text(String)
        case end(XMLValue)
    }

    private var root: XMLValue?
    /// The open elements, each with the index of its next node.
    private var open: [(element: XMLValue, next: Int)] = []

    init(_ root: XMLValue) {
        self.root = root
    }

    mutating func next() -> Event? {
        if let root = root.take() { return start(root) }
        guard let (element, next) = open.last else { return nil }
        guard next < element.content.count else {
            open.removeLast()
            return .end(element)
        }
        open[open.count - 1].next += 1
        switch element.content[next] {
        case .text(let text): return .text(text)
        case .element(let element): return start(element)
        }
    }

    private mutating func start(_ element: XMLValue) -> Event {
        open.append((element, 0))
        return .start(element)
    }
}
