@_spi(Lock) import Requests

/// The entries for the same method and URL that have not been replayed.
final class ReplayGroup: StubSupply {
    private struct State: Sendable {
        /// The remaining entries as a ring: for each entry the number of the next one, and for the end the number of
        /// the first one.
        var next: [Int]
        /// For each entry the number of the previous one, and for the end the number of the last one.
        var previous: [Int]
        /// The numbers of the entries with each body, in order; the first of them may have been replayed.
        var numbers: [BodyContent: ArraySlice<Int>] = [:]
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
        mutating func number(of body: BodyContent) -> Int? {
            // Entries with equal bodies are replayed in order, so that the replayed ones are the first of the list.
            while let first = numbers[body]?.first, isReplayed(first) { numbers[body]?.removeFirst() }
            return numbers[body]?.first { !isReplayed($0) }
        }
    }

    private let entries: [IndexedEntry]
    private let comparesBodies: Bool
    private let state: Lock<State>

    init(_ entries: [IndexedEntry], comparesBodies: Bool) {
        self.entries = entries
        self.comparesBodies = comparesBodies && entries.count > 1
        var state = State(count: entries.count)
        for (number, entry) in entries.enumerated() where self.comparesBodies {
            guard let body = Self.content(of: entry.entry.requestBody) else { continue }
            state.numbers[body, default: []].append(number)
        }
        self.state = Lock(state)
    }

    /// Returns the content of a recorded body; nil if it was not recorded.
    private static func content(of body: HARArchive.Content?) -> BodyContent? {
        guard let body else { return .empty }
        return body.data.map { BodyContent($0, body.mediaType) }
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
        let body =
            comparesBodies
            ? Self.content(of: HARRedaction(ExchangeRedaction(request)).entry(of: request, .max).requestBody) : nil
        return state.withLock { state in
            let first = state.next[state.end]
            guard first != state.end else { return nil }
            state.reserved = max(0, state.reserved - 1)
            let number = body.flatMap { state.number(of: $0) } ?? first
            state.remove(number)
            return entries[number]
        }
    }
}
