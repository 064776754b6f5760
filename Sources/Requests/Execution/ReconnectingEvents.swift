/// Server-sent events that go on when the connection does not (WHATWG HTML §9.2.3).
///
/// When the stream ends or the connection is lost, it waits as long as the server has asked, and asks again with the id
/// of the last event. A 204 ends it; a refusal, another content type and cancellation are errors.
public struct ReconnectingEvents<API: RequestProviding>: AsyncSequence {
    /// What ended the events.
    public typealias Failure = RequestError
    /// One event.
    public typealias Element = ServerSentEvent

    let client: Client<API>
    let request: Request<API, ResponseEvents>
    let limit: Int
    let pause: @Sendable (Duration) async throws -> Void

    /// Begins to ask.
    public func makeAsyncIterator() -> Iterator {
        Iterator(events: self)
    }

    /// Asks, reads, and asks again.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let events: ReconnectingEvents
        private let position = EventStreamPosition()
        private var current: ResponseEvents.Iterator?
        private var isAtEnd = false
        private var failures = 0

        fileprivate init(events: ReconnectingEvents) {
            self.events = events
        }

        /// The next event; nil when the server has ended the stream with a 204.
        public mutating func next() async throws(RequestError) -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// The next event; nil when the server has ended the stream with a 204.
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
                    guard error.isOfConnection, failures <= events.limit else {
                        isAtEnd = true
                        throw error
                    }
                }
                current = nil
                if !isAtEnd { try await wait() }
            }
            return nil
        }

        private mutating func connect() async throws(RequestError) {
            var request = events.request.setting(headerField: .cacheControl(.noStore))
            let id = position.lastEventID
            if !id.isEmpty { request = request.setting(headerField: Field(name: "Last-Event-ID", value: id)) }
            let response = try await events.client.response(for: request)
            isAtEnd = response.status == 204
            current = isAtEnd ? nil : response.value.continuing(position).makeAsyncIterator()
        }

        private func wait() async throws(RequestError) {
            let duration = position.reconnectionTime ?? .seconds(3)
            try await RequestError.wrapping(.other) { try await events.pause(duration) }
        }
    }
}

extension ReconnectingEvents: Sendable {}

extension RequestError {
    /// Whether the connection failed rather than the request: asking again may help.
    fileprivate var isOfConnection: Bool {
        switch reason {
        case .connectionFailed, .connectionLost, .hostNotFound, .timedOut: true
        default: false
        }
    }
}

extension Client {
    /// The events of `request`, going on over lost connections with Last-Event-ID.
    ///
    /// - Parameters:
    ///   - request: Asks for the events.
    ///   - limit: How many failures in a row are borne.
    ///   - pause: Waits between two connections: 3 s unless the server asks for another time.
    /// - Returns: The events; nothing is asked before they are iterated over.
    public func reconnectingEvents(
        _ request: Request<API, ResponseEvents>, limit: Int = 5,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) -> ReconnectingEvents<API> {
        ReconnectingEvents(client: self, request: request, limit: limit, pause: pause)
    }
}
