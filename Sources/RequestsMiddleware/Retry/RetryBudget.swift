internal import Synchronization

/// A limit on the retries of all calls of a client together, so that retries add little load to a failing server.
///
/// It is a bucket of tokens. Each request adds a fraction of a token, and each retry takes a whole one. So `n` requests
/// have at most `initial + ratio × n` retries. Copies share one bucket, so pass one budget to several executors to
/// limit them together.
///
/// Retries and hedging of one executor share a budget unless each has its own. A request then adds to it once: only the
/// middleware for retries records requests in a budget that it uses.
public struct RetryBudget: Sendable {
    private final class Bucket: Sendable {
        /// The tokens, in thousandths.
        let tokens: Atomic<Int>
        let deposit: Int
        let limit: Int
        /// Whether middleware for retries uses the bucket.
        let hasRetries = Atomic(false)

        init(tokens: Int, deposit: Int, limit: Int) {
            self.tokens = Atomic(tokens)
            self.deposit = deposit
            self.limit = limit
        }
    }

    /// The bucket; nil without a limit.
    private let bucket: Bucket?

    private init(_ bucket: Bucket?) {
        self.bucket = bucket
    }

    /// Creates a budget with a new bucket.
    ///
    /// - Parameters:
    ///   - initial: The number of tokens at the beginning; the default is 10. It is limited to 0 to 1,000,000.
    ///   - ratio: The tokens that each request adds; the default is 0.1, which limits the retries to 10 % of the
    ///     requests. It is limited to 0 to 1, in steps of 0.001; NaN counts as 0.
    ///   - maximum: The number of tokens that the bucket can contain; the default is 100. It is at least `initial`.
    public init(initial: Int = 10, ratio: Double = 0.1, maximum: Int = 100) {
        let initial = min(max(initial, 0), 1_000_000)
        let ratio = ratio.isNaN ? 0 : min(max(ratio, 0), 1)
        self.init(
            Bucket(
                tokens: initial * 1000, deposit: Int((ratio * 1000).rounded()),
                limit: min(max(maximum, initial), 1_000_000) * 1000))
    }

    /// A budget without a limit.
    public static var unlimited: RetryBudget { RetryBudget(nil) }

    /// The number of retries that the tokens permit at present; nil without a limit.
    public var availableRetries: Int? { bucket.map { $0.tokens.load(ordering: .relaxed) / 1000 } }

    /// Records that middleware for retries uses the bucket; from now on, only that middleware records requests.
    func useForRetries() { bucket?.hasRetries.store(true, ordering: .relaxed) }

    /// Adds the fraction of a token for one hedged request, unless middleware for retries adds it.
    func recordHedgedRequest() {
        if bucket?.hasRetries.load(ordering: .relaxed) == false { recordRequest() }
    }

    /// Adds the fraction of a token for one request.
    func recordRequest() {
        guard let bucket else { return }
        var tokens = bucket.tokens.load(ordering: .relaxed)
        // A full bucket, the usual state, costs one load.
        while tokens < bucket.limit {
            let (isExchanged, found) = bucket.tokens.weakCompareExchange(
                expected: tokens, desired: min(tokens + bucket.deposit, bucket.limit), ordering: .relaxed)
            if isExchanged { return }
            tokens = found
        }
    }

    /// Takes the token for one retry; returns false if there is none.
    func takeToken() -> Bool {
        guard let bucket else { return true }
        var tokens = bucket.tokens.load(ordering: .relaxed)
        while tokens >= 1000 {
            let (isExchanged, found) = bucket.tokens.weakCompareExchange(
                expected: tokens, desired: tokens - 1000, ordering: .relaxed)
            if isExchanged { return true }
            tokens = found
        }
        return false
    }
}
