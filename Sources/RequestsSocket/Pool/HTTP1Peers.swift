/// The https origins whose connections use HTTP/1.1 although HTTP/2 is preferred.
///
/// Calls to such an origin do not wait for a connection that they could share.
package struct HTTP1Peers<Origin: Hashable & Sendable>: Sendable {
    package enum Reason: Sendable {
        /// The server has not selected HTTP/2; new connections still offer it.
        case selected
        /// The server has required HTTP/1.1 for a request (RFC 9113 §7); new connections offer nothing else.
        case required
    }

    package static var limit: Int { 64 }

    /// At most ``limit`` entries; the one that was used least recently is the first.
    private var entries: [(origin: Origin, reason: Reason)] = []

    package init() {}

    package var count: Int { entries.count }

    /// Records the reason for `origin`.
    ///
    /// A recorded requirement is not replaced.
    package mutating func record(_ origin: Origin, _ reason: Reason) {
        let earlier = take(origin)
        if entries.count == Self.limit { entries.removeFirst() }
        entries.append((origin, earlier == .required ? .required : reason))
    }

    /// Removes `origin`, whose server has selected HTTP/2, unless it requires HTTP/1.1.
    package mutating func forget(_ origin: Origin) {
        entries.removeAll { $0.origin == origin && $0.reason == .selected }
    }

    /// Returns the reason for `origin`, and records this use; nil if the origin is not known to use HTTP/1.1.
    package mutating func reason(for origin: Origin) -> Reason? {
        guard let reason = take(origin) else { return nil }
        entries.append((origin, reason))
        return reason
    }

    private mutating func take(_ origin: Origin) -> Reason? {
        entries.firstIndex { $0.origin == origin }.map { entries.remove(at: $0).reason }
    }
}
