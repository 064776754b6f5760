extension Client {
    /// Server-sent events that continue when the connection is lost (WHATWG HTML §9.2.3).
    ///
    /// When the stream ends or the connection is lost, the sequence waits as long as the server has requested, and then
    /// requests the stream again with the ID of the last event. A 204 response ends the sequence. A rejected response
    /// and cancellation are errors.
    public struct ReconnectingEvents: AsyncSequence {
        /// The error that ended the events.
        public typealias Failure = RequestError
        /// A server-sent event.
        public typealias Element = ServerSentEvent

        let client: Client<API>
        let request: Request<API, ResponseStream.Events>
        let maximumFailures: Int
        let pause: @Sendable (Duration) async throws -> Void

        /// Returns an iterator, which requests the stream when the first event is requested.
        public func makeAsyncIterator() -> Iterator {
            Iterator(events: self)
        }

        /// An iterator that reads events and requests the stream again when it ends.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let events: ReconnectingEvents
            private let position = EventStreamPosition()
            private var current: ResponseStream.Events.Iterator?
            private var isAtEnd = false
            private var failures = 0

            fileprivate init(events: ReconnectingEvents) {
                self.events = events
            }

            /// Returns the next event; nil when the server has ended the stream with a 204 response.
            public mutating func next() async throws(RequestError) -> ServerSentEvent? {
                try await next(isolation: #isolation)
            }

            /// Returns the next event; nil when the server has ended the stream with a 204 response.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> ServerSentEvent? {
                while !isAtEnd {
                    do {
                        if current == nil { try await connect() }
                        if let event = try await current?.next(isolation: actor) {
                            failures = 0
                            return event
                        }
                    } catch {
                        failures += 1
                        guard error.isConnectionFailure, failures <= events.maximumFailures else {
                            isAtEnd = true
                            throw error
                        }
                    }
                    current = nil
                    if !isAtEnd { try await wait() }
                }
                return nil
            }

            /// Requests the stream, beginning after the last event that was read.
            private mutating func connect() async throws(RequestError) {
                // A stored response would repeat old events.
                var request = events.request.setting(headerField: .cacheControl(.noStore))
                let id = position.lastEventID
                if !id.isEmpty { request = request.setting(headerField: Field(name: "Last-Event-ID", value: id)) }
                let response = try await events.client.response(for: request)
                isAtEnd = response.status == 204
                current = isAtEnd ? nil : response.value.continuing(position).makeAsyncIterator()
            }

            /// Waits as long as the server has requested; 3 s by default.
            private func wait() async throws(RequestError) {
                let duration = position.reconnectionTime ?? .seconds(3)
                try await RequestError.wrapping(.other) { try await events.pause(duration) }
            }
        }
    }
}

extension Client.ReconnectingEvents: Sendable {}

extension RequestError {
    /// Whether the connection failed rather than the request: another attempt may then succeed.
    fileprivate var isConnectionFailure: Bool {
        switch reason {
        case .connectionFailed, .connectionLost, .hostNotFound, .timedOut: true
        default: false
        }
    }
}

extension Client {
    /// Returns the events of `endpoint`; when the connection is lost, the stream is requested again with Last-Event-ID.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint of the event stream.
    ///   - maximumFailures: The maximum number of consecutive failures; the error of a further one ends the events.
    ///   - pause: The function that waits between two connections. It receives 3 s unless the server has requested
    ///     another time.
    /// - Returns: The events. Nothing is requested before you iterate over them.
    public func reconnectingEvents<E: Endpoint>(
        for endpoint: E, maximumFailures: Int = 5,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) -> ReconnectingEvents where E.API == API, E.Resource == ResponseStream.Events {
        ReconnectingEvents(
            client: self, request: endpoint.identifiedRequest(from: api), maximumFailures: maximumFailures, pause: pause
        )
    }

    /// Returns the events of `call`; when the connection is lost, the stream is requested again with Last-Event-ID.
    ///
    /// The parameters are the same as for an endpoint.
    public func reconnectingEvents(
        for call: Call<API, ResponseStream.Events>, maximumFailures: Int = 5,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) -> ReconnectingEvents {
        ReconnectingEvents(
            client: self, request: call.request(from: api), maximumFailures: maximumFailures, pause: pause)
    }

    /// Returns the events of the request that `make` describes; when the connection is lost, the stream is requested
    /// again with Last-Event-ID.
    ///
    /// The parameters are the same as for an endpoint.
    public func reconnectingEvents(
        for make: (API) -> Request<API, ResponseStream.Events>, maximumFailures: Int = 5,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) -> ReconnectingEvents {
        ReconnectingEvents(client: self, request: make(api), maximumFailures: maximumFailures, pause: pause)
    }
}
