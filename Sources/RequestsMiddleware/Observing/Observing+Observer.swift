@_spi(Lock) import Requests
import Synchronization

extension Observing {
    /// A type that is notified of requests.
    ///
    /// ```swift
    /// struct SlowRequests: Observing.Observer {
    ///     func begin(
    ///         _ observation: inout Observing.Observation
    ///     ) -> Observing.Handler? {
    ///         { event in
    ///             guard case .end(let report) = event else { return }
    ///             if report.duration > .seconds(1) { print(report.request) }
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// Its functions are called on the thread of the exchange, or on the thread that releases a streamed body. They
    /// must return soon, and must be safe to call for several requests at once.
    public protocol Observer: Sendable {
        /// Receives the beginning of a request, and returns the function that receives its events.
        ///
        /// - Parameter observation: The request, to which an observer can add fields.
        /// - Returns: The function, or nil if the observer is not interested in the request.
        func begin(_ observation: inout Observation) -> Handler?
    }

    /// A function that receives the events of one request: the head of a streamed response, and the end, once.
    public typealias Handler = @Sendable (Event) -> Void

    /// An event of a request.
    @nonexhaustive
    public enum Event: Sendable {
        /// A response with a streamed body has arrived; in this value, its body is empty.
        case head(RawResponse)
        /// The request has ended; nothing follows.
        case end(Report)
    }

    /// A request that begins, as its observers receive it.
    public struct Observation: Sendable {
        /// The request, without the changes of observers.
        public internal(set) var request: PreparedRequest

        /// The position of the middleware in the chain.
        public let seat: Seat

        /// The number of requests that the call sent before this one: redirects, and attempts of the same request.
        ///
        /// Attempts are counted only if there is also middleware for ``Seat/calls``, and while an observer may watch
        /// them; the attempts before a redirect are not.
        public let resendCount: Int

        /// The fields to set in the request that is passed on.
        public var fields = Header.empty

        /// The names of fields to remove from the request that is passed on, before ``fields`` are set.
        public var removedFields: [Field.Name] = []

        /// The context that is current while the request is performed; nil for no change.
        public var context: TraceContext?

        /// The number of bytes at the beginning of the response body that ``Report/body`` contains; the default is 0.
        ///
        /// An observer that needs more increases it.
        public var bodyLimit = 0

        /// Creates the observation of a request that begins, as for a test of an observer.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - seat: The position of the middleware.
        ///   - resendCount: The number of requests that the call sent before this one; nil to count the redirects and
        ///     the attempts that have been observed.
        public init(of request: PreparedRequest, at seat: Seat, resendCount: Int? = nil) {
            let attempts = seat == .attempts ? Watch.current?.nextAttempt() ?? 0 : 0
            self.init(of: request, at: seat, resendCount: resendCount ?? request.redirectCount + attempts)
        }

        /// Creates the observation of a request that follows `attempts` attempts of the same request.
        init(of request: PreparedRequest, at seat: Seat, afterAttempts attempts: Int) {
            self.init(of: request, at: seat, resendCount: request.redirectCount + attempts)
        }

        private init(of request: PreparedRequest, at seat: Seat, resendCount: Int) {
            self.request = request
            self.seat = seat
            self.resendCount = resendCount
        }

        /// Whether an observer has requested a change.
        var hasEffect: Bool { context != nil || !fields.isEmpty || !removedFields.isEmpty || bodyLimit > 0 }

        /// The request with the fields of the observers.
        var changedRequest: PreparedRequest {
            if fields.isEmpty, removedFields.isEmpty { return request }
            var (request, header) = (request, request.header)
            for name in removedFields { header.remove(name) }
            for field in fields { header.set(field) }
            request.header = header
            return request
        }
    }

    /// An observer that passes reports of requests to a replaceable function.
    ///
    /// It reports only requests that began while there was a function, and nothing after the function has been removed.
    public final class Reports: Observer {
        /// Whether there is a function.
        ///
        /// It is read before the lock is taken, so that an observer without a function costs nothing.
        private let hasFunction: Atomic<Bool>
        private let function: Lock<(@Sendable (Report) -> Void)?>

        /// Creates an observer that passes reports to `handler`; nil for none.
        public init(_ handler: (@Sendable (Report) -> Void)? = nil) {
            hasFunction = Atomic(handler != nil)
            function = Lock(handler)
        }

        /// The function that receives the reports; nil for none.
        public var handler: (@Sendable (Report) -> Void)? {
            get { function.withLock { $0 } }
            set {
                // Released without the lock, because what it refers to may use this observer.
                let former = function.withLock { exchange(&$0, with: newValue) }
                hasFunction.store(newValue != nil, ordering: .releasing)
                withExtendedLifetime(former) {}
            }
        }

        var isActive: Bool { hasFunction.load(ordering: .acquiring) }

        /// Returns the function for a request, or nil if no function is set.
        public func begin(_ observation: inout Observation) -> Handler? {
            guard isActive else { return nil }
            return { [self] event in
                if case .end(let report) = event { handler?(report) }
            }
        }
    }
}
