/// The rate of requests to one origin, represented by the instant at which the next one is on time.
///
/// This is the generic cell rate algorithm (ITU-T I.371). Times are nanoseconds, whose arithmetic saturates.
struct TokenBucket: Sendable, OriginState {
    private let interval: Int64
    /// The time by which a request may be early, which permits a burst.
    private let tolerance: Int64
    /// The instant at which the next request is on time; nil before the first one.
    private var next: Deadline?
    /// The instants of returned tokens, oldest first; a later token has already been taken.
    private var free: [Deadline] = []
    /// The instant before which the server accepts no requests; nil for none.
    private var blockedUntil: Deadline?

    /// Creates a bucket of `burst` tokens, one of which is added in each `interval`.
    init(interval: Duration, burst: Int) {
        // Rounded down: requests exactly at the rate must not wait for a fraction of a nanosecond.
        self.interval = Deadline.nanoseconds(of: interval)
        let (product, overflow) = self.interval.multipliedReportingOverflow(by: Int64(max(1, burst) - 1))
        // At most 73 years, because its sums with instants must not saturate.
        tolerance = overflow ? .max >> 2 : min(product, .max >> 2)
    }

    struct Token: Sendable {
        fileprivate let nanoseconds: Int64
        /// The instant at which the request is on time.
        fileprivate let due: Deadline

        var delay: Duration { .nanoseconds(nanoseconds) }
    }

    /// Takes a token; returns nil, without taking it, if the time to wait for it is longer than `limit`.
    mutating func take(at now: Deadline, waitingAtMost limit: Duration) -> Token? {
        var earliest = now
        if let blockedUntil, blockedUntil > now {
            // After the pause, requests follow one by one, because the server has just refused them.
            earliest = blockedUntil.advanced(byNanoseconds: tolerance)
        } else {
            blockedUntil = nil
        }
        // A token of the past would allow more requests in one period than the rate does.
        if !free.isEmpty { free.removeFirst(place(of: now)) }
        let place = place(of: earliest)
        let isFree = place < free.count
        let due = isFree ? free[place] : max(next ?? earliest, earliest)
        let delay = max(0, due.nanoseconds(since: now.advanced(byNanoseconds: tolerance)))
        guard delay <= Deadline.nanoseconds(of: limit) else { return nil }
        if isFree { free.remove(at: place) } else { next = due.advanced(byNanoseconds: interval) }
        return Token(nanoseconds: delay, due: due)
    }

    /// Makes the token of a request that was not sent available to the next request.
    mutating func restore(_ token: Token) {
        free.insert(token.due, at: place(of: token.due))
        // The newest tokens are restored as if they had not been taken.
        while let last = free.last, last.advanced(byNanoseconds: interval) == next {
            next = last
            free.removeLast()
        }
    }

    /// Returns the index of the first token in ``free`` that is not before `instant`; otherwise the end.
    ///
    /// It searches by bisection, because thousands of waiting requests can be cancelled at once.
    private func place(of instant: Deadline) -> Int {
        var (low, high) = (0, free.count)
        while low < high {
            let middle = (low + high) / 2
            if free[middle] < instant { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the time to wait until the server accepts requests.
    func pause(at now: Deadline) -> Duration {
        .nanoseconds(max(0, blockedUntil?.nanoseconds(since: now) ?? 0))
    }

    mutating func block(for delay: Duration, at now: Deadline) {
        guard delay > .zero else { return }
        blockedUntil = max(blockedUntil ?? now, now.advanced(by: delay))
    }

    var isInitial: Bool { next == nil && blockedUntil == nil }

    /// Whether the bucket is full again, and thus equivalent to a new one.
    var isForgettable: Bool { blockedUntil == nil && (next?.hasPassed ?? true) }
}
