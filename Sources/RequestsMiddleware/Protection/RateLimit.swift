@_spi(Lock) internal import Requests

/// Middleware that limits the rate of requests to each origin, and pauses when a server says so.
///
/// ```swift
/// let executor = SocketExecutor()
///     .limitingRate(to: 10, per: .seconds(1), burst: 20)
/// ```
///
/// Each origin has a bucket of tokens, and each request waits for one. A request that would wait longer than
/// ``maximumDelay``, or beyond its deadline, fails at once and takes none.
///
/// A response with status 429 or 503 and Retry-After stops the requests to its origin for that time, an hour at most.
/// So does a response whose `RateLimit` field (draft-ietf-httpapi-ratelimit-headers) has no remaining requests, or
/// whose `RateLimit-Remaining`, `X-RateLimit-Remaining` (GitHub) or `X-Rate-Limit-Remaining` (X) is 0, until its reset.
/// A reset below 1,000,000,000 is a number of seconds, a larger one a Unix time, in milliseconds from 100,000,000,000
/// on. Numbers may have a fraction; values with a sign, and values that are not numbers, are ignored. Times are
/// compared with the Date of the response, or with the clock if it has none. After such a pause, requests follow one by
/// one.
///
/// Copies share the buckets. Add it before `retrying(_:budget:clock:)`, so that each attempt takes a token.
public struct RateLimit: Middleware {
    /// The maximum delay of a request.
    public let maximumDelay: Duration

    private final class Buckets: Sendable {
        let table = Lock(OriginTable<TokenBucket>())
    }

    private let interval: Duration
    private let burst: Int
    private let clock: Retrying.Clock
    private let buckets = Buckets()

    /// The maximum pause that a response can cause.
    private static let longestPause = Duration.seconds(3_600)

    /// Creates the middleware with new buckets.
    ///
    /// - Parameters:
    ///   - count: The number of requests to one origin in each `duration`; a number below 1 counts as 1.
    ///   - duration: The time for `count` requests; negative times count as 0, and times above a day as a day.
    ///   - burst: The number of requests that can be sent at once after a pause, at least 1; nil for `count`.
    ///   - maximumDelay: The longest delay of a request. The default is 60 s.
    ///   - clock: The sources of time.
    public init(
        _ count: Int, per duration: Duration, burst: Int? = nil, maximumDelay: Duration = .seconds(60),
        clock: Retrying.Clock = .system
    ) {
        let day = Duration.seconds(86_400)
        let count = max(1, count)
        self.maximumDelay = max(.zero, maximumDelay)
        interval = min(max(.zero, duration), day) / count
        // Limited, because sums could overflow.
        self.burst = min(max(1, burst ?? count), 1_000_000_000)
        self.clock = clock
    }

    /// Performs `request` with `next` when it has a token.
    ///
    /// - Throws: The `RequestError` of `next`, one with ``ProtectionError/rateLimited(_:)``, or one for a deadline or a
    ///   cancellation while it waits.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        try await wait(for: request)
        do throws(RequestError) {
            let response = try await next.execute(request)
            heed(response.head, to: request)
            return response
        } catch {
            if let head = error.response { heed(head, to: request) }
            throw error
        }
    }

    /// Takes a token, and waits until the request is on time.
    private func wait(for request: PreparedRequest) async throws(RequestError) {
        let origin = request.originKey
        let start = clock.deadline
        let limit = try limit(for: request, at: start)
        guard var token = change(origin, { $0.take(at: start, waitingAtMost: limit) }) else {
            throw rejection(of: request, origin, at: start)
        }
        var pause = token.delay
        while pause > .zero {
            do {
                try await clock.sleep(pause)
            } catch {
                change(origin) { [token] in $0.restore(token) }
                throw RequestError(.cancelled).adding(request: request).beforeSending()
            }
            // A response may have stopped the requests meanwhile.
            let now = clock.deadline
            guard change(origin, { $0.pause(at: now) }) > .zero else { return }
            // A new token is then taken, so the requests follow one by one.
            let left = limit - .nanoseconds(now.nanoseconds(since: start))
            guard let next = change(origin, { $0.take(at: now, waitingAtMost: left) }) else {
                throw rejection(of: request, origin, at: now)
            }
            token = next
            pause = next.delay
        }
    }

    /// Returns the maximum time that a request may wait.
    private func limit(for request: PreparedRequest, at now: Deadline) throws(RequestError) -> Duration {
        guard request.limit != .distantFuture else { return maximumDelay }
        let remaining = request.limit.nanoseconds(since: now)
        guard remaining > 0 else {
            throw RequestError(.timedOut(.total)).adding(request: request).beforeSending()
        }
        return min(maximumDelay, .nanoseconds(remaining))
    }

    private func rejection(
        of request: PreparedRequest, _ origin: TargetURI.OriginKey, at now: Deadline
    ) -> RequestError {
        let delay = change(origin) { bucket in
            var copy = bucket
            return copy.take(at: now, waitingAtMost: .seconds(Int64.max >> 1))?.delay ?? .zero
        }
        return RequestError(.rateLimited(delay), for: request)
    }

    /// Stops requests to the origin of `request` if its response says so.
    private func heed(_ head: ResponseHead, to request: PreparedRequest) {
        guard let pause = RateLimitFields.pause(of: head, date: clock.date), pause > .zero else { return }
        let now = clock.deadline
        change(request.originKey) { $0.block(for: min(pause, Self.longestPause), at: now) }
    }

    private func change<Result: Sendable>(_ origin: TargetURI.OriginKey, _ change: (inout TokenBucket) -> Result)
        -> Result
    {
        buckets.table.withLock { table in
            table.change(origin, new: TokenBucket(interval: interval, burst: burst), change)
        }
    }
}

/// The fields with which servers announce their limits.
enum RateLimitFields {
    /// Returns the time for which the server accepts no requests; nil if the response does not say so.
    static func pause(of head: ResponseHead, date: () -> Date) -> Duration? {
        let header = head.header
        if head.status.code == 429 || head.status.code == 503, let retryAfter = header.retryAfter {
            return retryAfter.delay(from: header.serverTime(at: date()))
        }
        var pause: Duration?
        if let text = header["RateLimit"] {
            // One item for each policy, in the form of the current draft or of an earlier one.
            for item in text.splitBytes(at: ",") { pause = longer(pause, of: item) }
            if !text.containsByte(";") {
                pause = longer(pause, of: text.replacingBytes { $0 == 0x2C ? ";" : nil }[...])
            }
        }
        // Such a limit is for a part of the API only, and requests to other parts are accepted until one is refused.
        let isPartial = header["X-RateLimit-Resource"] != nil || header["X-RateLimit-Bucket"] != nil
        if isPartial, head.status.isSuccess { return pause }
        for (remaining, reset) in separateFields {
            guard let remaining = header[remaining].flatMap({ number($0[...]) }), remaining < 1,
                let reset = header[reset].flatMap({ number($0[...]) })
            else { continue }
            pause = max(pause ?? .zero, Self.pause(untilReset: reset, at: header.serverTime(at: date())))
        }
        return pause
    }

    /// The fields of earlier drafts, of GitHub and many other APIs, and of X.
    private static let separateFields: [(remaining: Field.Name, reset: Field.Name)] = [
        ("RateLimit-Remaining", "RateLimit-Reset"), ("X-RateLimit-Remaining", "X-RateLimit-Reset"),
        ("X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"),
    ]

    /// Returns the time until a reset, whose size shows whether it is a number of seconds, or the Unix time of the
    /// reset in seconds or milliseconds: no pause lasts 30 years.
    private static func pause(untilReset reset: Double, at now: Date) -> Duration {
        guard reset >= 1e9 else { return .seconds(reset) }
        let date = Date(timeIntervalSince1970: reset < 1e11 ? reset : reset / 1000)
        // Not a `max`, because a clock can return NaN, whose conversion would trap.
        let seconds = date.timeIntervalSince(now)
        return seconds > 0 ? .seconds(min(seconds, largestNumber)) : .zero
    }

    /// Returns the longer of `pause` and the pause until the reset of `item`, which counts only if `item` has no
    /// remaining requests.
    private static func longer(_ pause: Duration?, of item: Substring) -> Duration? {
        var (remaining, reset): (Double?, Double?)
        for parameter in item.splitBytes(at: ";") {
            let parts = parameter.splitBytes(at: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            switch ASCIIFolding.folded(trimmed(parts[0])) {
            case "r", "remaining": remaining = number(parts[1])
            case "t", "reset": reset = number(parts[1])
            default: break
            }
        }
        guard let remaining, remaining < 1, let reset else { return pause }
        return max(pause ?? .zero, .seconds(reset))
    }

    private static func trimmed(_ text: Substring) -> String {
        text.replacingBytes { $0 == 0x20 || $0 == 0x09 ? "" : nil }
    }

    /// Larger numbers count as this one, a Unix time in milliseconds.
    private static let largestNumber = 9_999_999_999_999.0

    /// Returns a number of digits with or without a fraction; nil for any other text, such as NaN, -5 or 1e400.
    private static func number(_ text: Substring) -> Double? {
        let text = trimmed(text)
        let isNumber = text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 == UInt8(ascii: ".") }
        guard isNumber, let number = Double(text) else { return nil }
        return min(number, largestNumber)
    }
}

extension RequestExecutor {
    /// Returns this executor with a limit on the rate of requests to each origin.
    public func limitingRate(
        to count: Int, per duration: Duration, burst: Int? = nil, maximumDelay: Duration = .seconds(60),
        clock: Retrying.Clock = .system
    ) -> Intercepted {
        intercepted(by: RateLimit(count, per: duration, burst: burst, maximumDelay: maximumDelay, clock: clock))
    }
}
