/// The rate of the requests to one origin, as the instant at which the next one is on time.
///
/// This is the generic cell rate algorithm (ITU-T I.371).
struct TokenBucket: Sendable, OriginState {
    typealias Instant = ContinuousClock.Instant

    private let interval: Duration
    /// The time by which a request may be early, for the requests of a burst.
    private let tolerance: Duration
    /// The instant at which the next request is on time; nil before the first one.
    private var next: Instant?
    /// The instants of tokens that were returned and precede those of later ones, oldest first.
    private var free: [Instant] = []
    /// The instant before which the server accepts no requests; nil for none.
    private var blockedUntil: Instant?

    /// Creates a bucket of `burst` tokens, one of which is added in each `interval`.
    init(interval: Duration, burst: Int) {
        self.interval = interval
        tolerance = interval * (max(1, burst) - 1)
    }

    struct Token: Sendable {
        /// The time to wait for it.
        let delay: Duration
        /// The instant at which the request is on time.
        fileprivate let due: Instant
    }

    /// Takes a token; returns nil, without taking it, if the time to wait for it is longer than `limit`.
    mutating func take(at now: Instant, waitingAtMost limit: Duration) -> Token? {
        var earliest = now
        if let blockedUntil, blockedUntil > now {
            // After the pause, requests follow one by one, because the server has just refused them.
            earliest = blockedUntil + tolerance
        } else {
            blockedUntil = nil
        }
        // A token of the past would allow more requests in one period than the rate does.
        free.removeFirst(place(of: now))
        let place = place(of: earliest)
        let isFree = place < free.count
        let due = isFree ? free[place] : max(next ?? earliest, earliest)
        let delay = max(.zero, now.duration(to: due - tolerance))
        guard delay <= limit else { return nil }
        if isFree { free.remove(at: place) } else { next = due + interval }
        return Token(delay: delay, due: due)
    }

    /// Makes the token of a request that was not sent available to the next request.
    mutating func restore(_ token: Token) {
        free.insert(token.due, at: place(of: token.due))
        // The newest tokens are restored as if they had not been taken.
        while let last = free.last, last + interval == next {
            next = last
            free.removeLast()
        }
    }

    /// Returns the index of the first token in ``free`` that is not before `instant`, or the end.
    ///
    /// The order is used, because thousands of waiting requests can be cancelled at once.
    private func place(of instant: Instant) -> Int {
        var (low, high) = (0, free.count)
        while low < high {
            let middle = (low + high) / 2
            if free[middle] < instant { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the time to wait until the server accepts requests.
    func pause(at now: Instant) -> Duration {
        blockedUntil.map { max(.zero, now.duration(to: $0)) } ?? .zero
    }

    /// Accepts no requests for `delay`.
    mutating func block(for delay: Duration, at now: Instant) {
        guard delay > .zero else { return }
        blockedUntil = max(blockedUntil ?? now, now + delay)
    }

    var isInitial: Bool { next == nil && blockedUntil == nil }

    /// Buckets that are full again are equivalent to new ones.
    var isForgettable: Bool { blockedUntil == nil && (next.map { $0 <= .now } ?? true) }
}
