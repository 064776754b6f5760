@_spi(Lock) import Requests

/// The entries for the same method and URL that have not been replayed.
final class ReplayGroup: StubSupply {
    /// A body that is compared.
    private struct Body: Sendable {
        let content: HARArchive.Content?
        /// The body if it is JSON.
        let value: JSONValue?
        /// A number that is the same for equal bodies.
        let hash: Int

        init(_ content: HARArchive.Content?) {
            self.content = content
            value = content?.data.flatMap { ExactJSON.value(parsing: $0) }
            hash = value.map { ExactJSON.hash(of: $0) } ?? content?.data.hashValue ?? 0
        }

        func isEqual(to other: Self) -> Bool {
            guard let content, let otherContent = other.content else {
                return (content == nil) == (other.content == nil)
            }
            guard let data = content.data, let otherData = otherContent.data else { return false }
            return data == otherData || value != nil && ExactJSON.areEqual(value, other.value)
        }
    }

    private struct State: Sendable {
        /// The remaining entries as a ring: the number after each entry, and for the end that of the first.
        var next: [Int]
        /// For each entry the number of the one before it, and for the end that of the last.
        var previous: [Int]
        /// The numbers of entries by the hash of their bodies, in order; some of the first may have been replayed.
        var numbers: [Int: ArraySlice<Int>] = [:]
        /// The number of remaining entries that requests have reserved.
        var reserved = 0

        init(count: Int) {
            next = Array(1..<count + 1) + [0]
            previous = [count] + Array(0..<count)
        }

        /// The number after the last entry.
        var end: Int { next.count - 1 }

        /// The first entry that is neither replayed nor reserved; nil if there is none.
        var firstFree: Int? {
            var number = next[end]
            for _ in 0..<reserved where number != end { number = next[number] }
            return number == end ? nil : number
        }

        func isReplayed(_ number: Int) -> Bool { next[previous[number]] != number }

        mutating func remove(_ number: Int) {
            next[previous[number]] = next[number]
            previous[next[number]] = previous[number]
        }

        /// Returns the number of the first remaining entry with an equal body.
        mutating func number(of body: Body, in bodies: [Body]) -> Int? {
            // Entries with equal bodies are replayed in order, so that the replayed ones are the first of the list.
            while let first = numbers[body.hash]?.first, isReplayed(first) { numbers[body.hash]?.removeFirst() }
            return numbers[body.hash]?.first { !isReplayed($0) && bodies[$0].isEqual(to: body) }
        }
    }

    private let entries: [IndexedEntry]
    /// The bodies of the entries; empty if bodies are not compared.
    private let bodies: [Body]
    private let state: Lock<State>

    init(_ entries: [IndexedEntry], comparesBodies: Bool) {
        self.entries = entries
        bodies = comparesBodies && entries.count > 1 ? entries.map { Body($0.entry.requestBody) } : []
        var state = State(count: entries.count)
        for (number, body) in bodies.enumerated() { state.numbers[body.hash, default: []].append(number) }
        self.state = Lock(state)
    }

    var nextPosition: Int? {
        state.withLock { state in state.firstFree.map { entries[$0].index } }
    }

    func reserve() -> Bool {
        state.withLock { state in
            guard state.firstFree != nil else { return false }
            state.reserved += 1
            return true
        }
    }

    /// Removes the entry that responds to `request`, and returns it.
    func next(for request: PreparedRequest) -> IndexedEntry? {
        let body = bodies.isEmpty ? nil : Body(HARRedaction(request, .standard).entry(of: request, .max).requestBody)
        return state.withLock { state in
            let first = state.next[state.end]
            guard first != state.end else { return nil }
            state.reserved = max(0, state.reserved - 1)
            let number = body.flatMap { state.number(of: $0, in: bodies) } ?? first
            state.remove(number)
            return entries[number]
        }
    }
}
