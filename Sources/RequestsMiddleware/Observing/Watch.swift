import Requests
import Synchronization

extension Observing {
    /// A request that observers watch, from its beginning to its end.
    ///
    /// In the seat for calls, it also counts the attempts of the request.
    final class Watch: Sendable {
        /// The object that counts the attempts of the request in the current task.
        @TaskLocal static var current: Watch?

        private let settings: Settings
        /// The counter, if it is the only observer.
        ///
        /// It needs neither a report nor the time unless the body is streamed.
        private let counter: ActivityCounter?
        /// The exchange of which the observers are notified; nil if there is only a counter.
        private let exchange: ObservedExchange?
        /// The number of earlier attempts at the same request, for a counter.
        private let formerAttempts: Int
        private let attempts = Atomic(0)
        /// The object that counts the attempts; it is not this watch if that has an exchange.
        ///
        /// Tasks that are started within the call keep the object, and would otherwise keep the body of the request.
        private let attemptCounter: Watch?

        /// Begins to watch a request that only `counter` observes.
        init(countedBy counter: ActivityCounter, afterAttempts attempts: Int, _ settings: Settings) {
            self.settings = settings
            self.counter = counter
            exchange = nil
            formerAttempts = attempts
            attemptCounter = nil
        }

        /// Begins to watch a request for the observers of `exchange`; nil for an object that only counts attempts.
        init(_ exchange: ObservedExchange?, _ settings: Settings) {
            self.settings = settings
            counter = nil
            self.exchange = exchange
            formerAttempts = 0
            attemptCounter = exchange != nil && settings.seat == .calls ? Watch(nil, settings) : nil
        }

        /// Counts an attempt, and returns the number of earlier ones.
        func nextAttempt() -> Int { attempts.add(1, ordering: .relaxed).oldValue }

        func perform(
            _ request: PreparedRequest, with next: any RequestExecutor
        ) async throws(RequestError) -> RawResponse {
            var response: RawResponse
            do {
                // A task-local value is bound by a function that throws any error.
                response = try await withValues { try await next.execute(request) }
            } catch {
                throw end(RequestError(wrapping: error, as: .other))
            }
            end(&response, to: request)
            return response
        }

        private func end(_ error: RequestError) -> RequestError {
            counter?.end()
            exchange?.end(error)
            return error
        }

        /// Reports a response to `request`; the end of a streamed body is reported when it is reached.
        private func end(_ response: inout RawResponse, to request: PreparedRequest) {
            if let counter {
                guard case .stream = response.body else { return counter.end() }
                let observation = Observation(of: request, at: settings.seat, afterAttempts: formerAttempts)
                response = ObservedExchange(observation, [counter.endHandler], settings.clock).receive(response)
            } else if let exchange {
                response = exchange.receive(response)
            }
        }
    }
}

// MARK: Task-local values

extension Observing.Watch {
    private func withValues<Result>(_ operation: () async throws -> Result) async throws -> Result {
        guard let context = exchange?.context else { return try await withAttempts(operation) }
        return try await TraceContext.$current.withValue(context) { try await withAttempts(operation) }
    }

    private func withAttempts<Result>(_ operation: () async throws -> Result) async throws -> Result {
        guard settings.seat == .calls else { return try await operation() }
        return try await Self.$current.withValue(attemptCounter ?? self, operation: operation)
    }
}
