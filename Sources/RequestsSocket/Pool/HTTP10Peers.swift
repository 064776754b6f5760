package import Requests

/// The origins and proxies that have responded with HTTP/1.0; no chunked request may be sent to them.
///
/// HTTP/1.0 has no chunks (RFC 9112 §6.1). The first request to a peer can be chunked, because nothing is known about
/// it. A peer is remembered until it keeps a connection open after a response with HTTP/1.1, or until ``memory`` has
/// passed since its last response with HTTP/1.0 (decision 0058).
package struct HTTP10Peers<Origin: Hashable & Sendable>: Sendable {
    package static var limit: Int { 64 }

    /// The time in nanoseconds for which a response is remembered: an hour.
    package static var memory: Int64 { 3_600_000_000_000 }

    /// At most ``limit`` entries, ordered by their last response, so the first one expires first.
    private var entries: [(origin: Origin, end: Deadline)] = []

    package init() {}

    package var count: Int { entries.count }

    package mutating func record(_ origin: Origin, at now: Deadline) {
        entries.removeAll { $0.end <= now || $0.origin == origin }
        if entries.count == Self.limit { entries.removeFirst() }
        entries.append((origin, now.advanced(byNanoseconds: Self.memory)))
    }

    /// Removes `origin`, whose connection has stayed open after a response with HTTP/1.1.
    package mutating func forget(_ origin: Origin) {
        entries.removeAll { $0.origin == origin }
    }

    package func contains(_ origin: Origin, at now: Deadline) -> Bool {
        entries.contains { now < $0.end && $0.origin == origin }
    }
}
