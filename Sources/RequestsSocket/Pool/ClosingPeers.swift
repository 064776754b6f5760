package import Requests

/// The origins and proxies that close connections after a response without announcing it.
///
/// Such a peer may close an idle connection just when a request is written to it, so requests that cannot be sent again
/// use new connections. A peer is listed after it has closed two connections without a successful reuse in between. It
/// is removed when a connection to it is reused successfully, or when ``memory`` has passed since the last closing.
package struct ClosingPeers<Origin: Hashable & Sendable>: Sendable {
    private struct Entry {
        let origin: Origin
        var closings: Int
        var end: Deadline
    }

    package static var limit: Int { 64 }

    /// The time in nanoseconds for which a closing is remembered: 60 s.
    package static var memory: Int64 { 60_000_000_000 }

    /// At most ``limit`` entries, ordered by their last closing, so the first one expires first.
    private var entries: [Entry] = []

    package init() {}

    package var isEmpty: Bool { entries.isEmpty }

    package var count: Int { entries.count }

    /// Records that `origin` has closed a connection that it could have kept.
    package mutating func recordClosing(by origin: Origin, at now: Deadline) {
        entries.removeAll { $0.end <= now }
        let end = now.advanced(byNanoseconds: Self.memory)
        var entry = Entry(origin: origin, closings: 0, end: end)
        if let index = entries.firstIndex(where: { $0.origin == origin }) { entry = entries.remove(at: index) }
        // Two are sufficient, so a higher count carries no information.
        entry.closings = min(2, entry.closings + 1)
        entry.end = end
        if entries.count == Self.limit { entries.removeFirst() }
        entries.append(entry)
    }

    /// Records that a connection to `origin` has carried a further exchange.
    package mutating func recordReuse(by origin: Origin) {
        if entries.isEmpty { return }
        entries.removeAll { $0.origin == origin }
    }

    package func contains(_ origin: Origin, at now: Deadline) -> Bool {
        entries.contains { $0.closings >= 2 && now < $0.end && $0.origin == origin }
    }
}
