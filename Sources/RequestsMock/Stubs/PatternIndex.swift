import Requests

/// The path patterns of stubs as a tree of components, so that the time of a search does not depend on the number of
/// stubs.
struct PatternIndex {
    private struct Node {
        var literals: [ByteText: Int] = [:]
        var parameter: Int?
        /// The numbers of the stubs whose patterns end here, oldest first.
        var stubs: [Int] = []
    }

    private var nodes = [Node()]

    /// Whether no stub was ever added.
    private(set) var isEmpty = true

    mutating func insert(_ number: Int, at components: [StubPattern.Component]) {
        isEmpty = false
        var node = 0
        for component in components {
            if let next = child(of: node, component) {
                node = next
                continue
            }
            nodes.append(Node())
            switch component {
            case .literal(let text): nodes[node].literals[text] = nodes.count - 1
            case .parameter: nodes[node].parameter = nodes.count - 1
            }
            node = nodes.count - 1
        }
        nodes[node].stubs.append(number)
    }

    /// Removes the stub `number`; its nodes stay for later stubs.
    mutating func remove(_ number: Int, at components: [StubPattern.Component]) {
        var node = 0
        for component in components {
            guard let next = child(of: node, component) else { return }
            node = next
        }
        nodes[node].stubs.removeAll { $0 == number }
    }

    func stubs(matching components: ArraySlice<ByteText>) -> [Int] {
        var found: [Int] = []
        // A list in place of recursion, because a path may have any number of components.
        var open = [(node: 0, position: components.startIndex)]
        while let (node, position) = open.popLast() {
            guard position < components.endIndex else {
                found += nodes[node].stubs
                continue
            }
            if let next = nodes[node].literals[components[position]] { open.append((next, position + 1)) }
            if let next = nodes[node].parameter { open.append((next, position + 1)) }
        }
        return found
    }

    private func child(of node: Int, _ component: StubPattern.Component) -> Int? {
        switch component {
        case .literal(let text): nodes[node].literals[text]
        case .parameter: nodes[node].parameter
        }
    }
}
