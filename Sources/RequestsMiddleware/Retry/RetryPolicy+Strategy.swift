extension RetryPolicy {
    /// A strategy for retries: how often a request is sent again, and after which delays.
    public struct Strategy: Sendable {
        /// A function that returns the delay before a request is sent again, or nil to give up.
        ///
        /// A negative delay counts as 0, and one of more than 1,000,000,000 s as 1,000,000,000 s.
        public typealias Function = @Sendable (Failure) async -> Duration?

        private enum Kind: Sendable {
            case delays([Duration])
            case backoff(initial: Duration, maximum: Duration)
            case function(Function)
        }

        private let kind: Kind

        /// The maximum number of retries; at least 0.
        public let maximumRetries: Int

        private init(_ kind: Kind, maximumRetries: Int) {
            self.kind = kind
            // Below `Int.max`, because the number of attempts must not overflow.
            self.maximumRetries = min(max(0, maximumRetries), 1_000_000)
        }

        /// Creates a strategy from a function, which is called for at most `maximumRetries` retries.
        ///
        /// The function may suspend, for example until a network is available. It is called only for failures that the
        /// policy of the strategy contains.
        public init(maximumRetries: Int = 9, _ function: @escaping Function) {
            self.init(.function(function), maximumRetries: maximumRetries)
        }

        /// One retry, at once.
        public static var retryOnce: Strategy { Strategy(.delays([.zero]), maximumRetries: 1) }

        /// Two retries: one at once, and one after 2 s.
        public static var retryTwiceWithDefaultDelay: Strategy { retryTwiceWithDelay(.seconds(2)) }

        /// Returns a strategy of two retries: one at once, and one after `delay`.
        public static func retryTwiceWithDelay(_ delay: Duration) -> Strategy {
            Strategy(.delays([.zero, delay]), maximumRetries: 2)
        }

        /// Returns a strategy of retries with random delays, so that clients that failed at the same time do not retry
        /// at the same time (exponential backoff with full jitter).
        ///
        /// - Parameters:
        ///   - maximumRetries: The maximum number of retries; the default is 2.
        ///   - initial: The longest delay before the first retry; it doubles for each later one.
        ///   - maximum: The longest delay of all.
        /// - Returns: The strategy. Each delay is random, between 0 and the longest one for the retry.
        public static func exponentialBackoff(
            maximumRetries: Int = 2, initial: Duration = .seconds(1), maximum: Duration = .seconds(20)
        ) -> Strategy {
            Strategy(.backoff(initial: initial.limited, maximum: maximum.limited), maximumRetries: maximumRetries)
        }

        /// Whether the strategy is a function, which may suspend.
        var isFunction: Bool {
            if case .function = kind { true } else { false }
        }

        /// Returns the delay after `failure`, nil to give up; `random` returns numbers from 0 to 1.
        func delay(after failure: Failure, random: () -> Double) async -> Duration? {
            guard failure.attempt < maximumRetries else { return nil }
            switch kind {
            case .delays(let delays): return failure.attempt < delays.count ? delays[failure.attempt].limited : nil
            case .backoff(let initial, let maximum):
                var longest = min(initial, maximum)
                // Ends after 60 turns at the latest, because the maximum is limited and a duration of 0 stays 0.
                for _ in 0..<min(failure.attempt, 128) where longest < maximum { longest = min(longest * 2, maximum) }
                let number = random()
                // The product is rounded, so it is not exactly the longest delay.
                return number >= 0 && number < 1 ? min(longest * number, longest) : longest
            case .function(let function): return await function(failure)?.limited
            }
        }
    }
}

extension Duration {
    /// This duration, limited to 0 to 1,000,000,000 s, because sums with it must not overflow.
    var limited: Duration { min(max(self, .zero), .seconds(1_000_000_000)) }
}
