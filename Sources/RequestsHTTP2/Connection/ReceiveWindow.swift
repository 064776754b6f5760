import Requests

/// The window that limits what the peer may send on a stream or the connection (RFC 9113 §6.9).
struct ReceiveWindow: Sendable {
    /// The size: the number of bytes that the peer may send, plus the received bytes that no WINDOW_UPDATE has
    /// returned.
    private(set) var size: Int
    /// The number of bytes that the peer may send.
    private(set) var available: Int
    /// The number of consumed bytes that no WINDOW_UPDATE has returned.
    private(set) var unreturned = 0
    /// The instant of the last WINDOW_UPDATE.
    var updated: Deadline?

    init(size: Int) {
        self.size = size
        available = size
    }

    /// Counts `count` received bytes, at most ``available``.
    mutating func take(_ count: Int) {
        available -= count
    }

    /// Counts `count` consumed bytes, at most as many as were received.
    mutating func release(_ count: Int) {
        unreturned += min(count, size - available - unreturned)
    }

    /// Whether a WINDOW_UPDATE is due, because half of the window has been consumed.
    var isUpdateDue: Bool { unreturned > 0 && unreturned >= size / 2 }

    /// Makes the window larger; the next WINDOW_UPDATE includes the difference.
    mutating func grow(to newSize: Int) {
        guard newSize > size else { return }
        unreturned += newSize - size
        size = newSize
    }

    /// Returns the increment of a WINDOW_UPDATE that returns all consumed bytes.
    mutating func update(at now: Deadline) -> Int {
        defer { unreturned = 0 }
        available += unreturned
        updated = now
        return unreturned
    }
}
