import Requests

extension Observing {
    /// A request that observers watch, from its beginning to its end.
    struct Watch: Sendable {
        /// The request to pass on.
        let request: PreparedRequest
        private let reporter: Reporter
        private let context: TraceContext?
        /// The count of the attempts, in the seat for calls.
        private let attempts: AttemptCount?

        private enum Reporter: Sendable {
            /// The only observer, which needs neither a report nor the time unless the body is streamed.
            case counter(ActivityCounter, afterAttempts: Int, Settings)
            case exchange(ObservedExchange)
        }

        /// Begins to watch a request that only `counter` observes.
        init(
            _ request: PreparedRequest, countedBy counter: ActivityCounter, afterAttempts attempts: Int,
            _ settings: Settings
        ) {
            self.request = request
            reporter = .counter(counter, afterAttempts: attempts, settings)
            context = nil
            self.attempts = settings.seat == .calls ? AttemptCount() : nil
        }

        /// Begins to watch a request for `handlers`.
        init(_ observation: Observation, _ handlers: [Handler], _ settings: Settings) {
            let exchange = ObservedExchange(observation, handlers, settings.clock)
            request = exchange.watchedRequest
            reporter = .exchange(exchange)
            context = observation.context
            attempts = settings.seat == .calls ? AttemptCount() : nil
        }

        /// Performs an exchange, or the deferred part of one, and reports its end.
        @inline(__always)  // saves a frame in the call of a task
        func perform(
            _ exchange: () async throws(RequestError) -> RawResponse
        ) async throws(RequestError) -> RawResponse {
            var response: RawResponse
            do {
                // A task-local value is bound by a function that throws any error.
                response = try await withValues { try await exchange() }
            } catch {
                throw end(RequestError(wrapping: error, as: .other))
            }
            end(&response)
            return response
        }

        /// Performs as much of an exchange as possible on the calling thread, and reports an error.
        func begin(
            _ exchange: () throws(RequestError) -> BlockingExecution
        ) throws(RequestError) -> BlockingExecution {
            do {
                return try withValues { try exchange() }
            } catch {
                throw end(RequestError(wrapping: error, as: .other))
            }
        }

        /// Reports a failed request, and returns the error.
        private func end(_ error: RequestError) -> RequestError {
            switch reporter {
            case .counter(let counter, _, _): counter.end()
            case .exchange(let exchange): exchange.end(error)
            }
            return error
        }

        /// Reports a response; the end of a streamed body is reported when it is reached.
        func end(_ response: inout RawResponse) {
            switch reporter {
            case .counter(let counter, let attempts, let settings):
                guard case .stream = response.body else { return counter.end() }
                let observation = Observation(of: request, at: settings.seat, afterAttempts: attempts)
                response = ObservedExchange(observation, [counter.endHandler], settings.clock).receive(response)
            case .exchange(let exchange): response = exchange.receive(response)
            }
        }
    }
}

// MARK: Task-local values

extension Observing.Watch {
    @inline(__always)  // saves a frame in the call of a task
    private func withValues<Result>(_ operation: () async throws -> Result) async throws -> Result {
        guard let context else { return try await withAttempts(operation) }
        return try await TraceContext.$current.withValue(context) { try await withAttempts(operation) }
    }

    @inline(__always)  // saves a frame in the call of a task
    private func withAttempts<Result>(_ operation: () async throws -> Result) async throws -> Result {
        guard let attempts else { return try await operation() }
        return try await AttemptCount.$current.withValue(attempts, operation: operation)
    }

    private func withValues<Result>(_ operation: () throws -> Result) throws -> Result {
        guard let context else { return try withAttempts(operation) }
        return try TraceContext.$current.withValue(context) { try withAttempts(operation) }
    }

    private func withAttempts<Result>(_ operation: () throws -> Result) throws -> Result {
        guard let attempts else { return try operation() }
        return try AttemptCount.$current.withValue(attempts, operation: operation)
    }
}
