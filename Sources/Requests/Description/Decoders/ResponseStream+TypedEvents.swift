extension ServerSentEvent {
    /// A server-sent event with its data decoded.
    public struct Typed<Value> {
        /// The type of the event; `message` when the server names none.
        public var type: String

        /// The value that the data was decoded into.
        public var value: Value

        /// The last event ID that the server has sent, with this event or before it; empty if there is none.
        public var lastEventID: String

        /// Creates an event from its parts.
        public init(type: String = "message", value: Value, lastEventID: String = "") {
            self.type = type
            self.value = value
            self.lastEventID = lastEventID
        }
    }
}

extension ServerSentEvent.Typed: Sendable where Value: Sendable {}
extension ServerSentEvent.Typed: Equatable where Value: Equatable {}
extension ServerSentEvent.Typed: Hashable where Value: Hashable {}

extension ResponseStream {
    /// The events of a server-sent event stream with their data decoded, as a sequence that can be read once.
    ///
    /// Bytes are read only as events are requested. Releasing the sequence before its end ends the exchange.
    public struct TypedEvents<Value>: AsyncSequence, Sendable {
        /// The error that ended the body early, or ``RequestError/Reason/decodingFailed`` with the number of the event.
        public typealias Failure = RequestError
        /// An event with its data decoded.
        public typealias Element = ServerSentEvent.Typed<Value>

        private let stream: ResponseStream
        private let events: ResponseStream.Events
        private let end: String?
        private let decode: @Sendable (Data) throws -> Value

        init(
            _ stream: ResponseStream, until end: String?, limit: Int,
            decode: @escaping @Sendable (Data) throws -> Value
        ) {
            self.stream = stream
            events = ResponseStream.Events(stream, limit: limit)
            self.end = end
            self.decode = decode
        }

        /// Returns the iterator for the events, which can be read once, by one iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(sequence: self, events: events.makeAsyncIterator())
        }

        /// An iterator that reads events from the response.
        public struct Iterator: AsyncIteratorProtocol {
            private let sequence: TypedEvents
            private var events: ResponseStream.Events.Iterator
            private var number = 0
            private var isAtEnd = false

            fileprivate init(sequence: TypedEvents, events: ResponseStream.Events.Iterator) {
                self.sequence = sequence
                self.events = events
            }

            /// Returns the next event; nil after the last.
            public mutating func next() async throws(RequestError) -> ServerSentEvent.Typed<Value>? {
                try await next(isolation: #isolation)
            }

            /// Returns the next event; nil after the last.
            ///
            /// - Throws: ``RequestError/Reason/decodingFailed`` for data that cannot be decoded. The next call
            ///   continues with the next event.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> ServerSentEvent.Typed<Value>? {
                while !isAtEnd, let event = try await events.next(isolation: actor) {
                    number += 1
                    if let end = sequence.end, event.data.hasSameBytes(as: end) { break }
                    if event.data.utf8.allSatisfy(\.isJSONWhitespace) { continue }
                    return try value(of: event)
                }
                isAtEnd = true
                return nil
            }

            private func value(of event: ServerSentEvent) throws(RequestError) -> ServerSentEvent.Typed<Value> {
                let data = Data(event.data.utf8)
                do {
                    return ServerSentEvent.Typed(
                        type: event.type, value: try sequence.decode(data), lastEventID: event.lastEventID)
                } catch {
                    let name = ErrorText.quoted(event.type, limit: ErrorText.peerTextLimit)
                    let problem = RequestError(
                        .decodingFailed, detail: "event \(number), \(name)", underlying: error, body: data)
                    throw sequence.stream.failure(problem.decoding(Value.self))
                }
            }
        }
    }
}

extension ResponseDecoder {
    /// Returns a decoder of server-sent events, `text/event-stream`, whose data is JSON.
    ///
    /// The events are decoded as they arrive and no faster than you read them. An event whose data is empty or white
    /// space is skipped. `makeDecoder` is called for each event; without it, the decoder of the API is used.
    ///
    /// ```swift
    /// api.post(
    ///     .json(prompt), to: "/chat", receiving: .events(Delta.self, until: "[DONE]"))
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the data.
    ///   - end: The data of the event that ends the sequence, such as `[DONE]`; what follows it is not read. The end of
    ///     the body ends the sequence too.
    ///   - limit: The maximum number of bytes in one event. A longer one ends the events with
    ///     ``RequestError/Reason/tooLarge(limit:)``.
    ///   - makeDecoder: A function that creates a JSON decoder.
    /// - Returns: The decoder.
    public static func events<Value: Decodable & SendableMetatype>(
        _ type: Value.Type = Value.self, until end: String? = nil, limit: Int = 1 << 20,
        using makeDecoder: (@Sendable () -> JSONDecoder)? = nil
    ) -> ResponseDecoder where Response == ResponseStream.TypedEvents<Value> {
        ResponseDecoder(accepting: [.eventStream], delivery: .streamed) { response, makeDefaultDecoder in
            let makeDecoder = makeDecoder ?? makeDefaultDecoder
            return ResponseStream.TypedEvents(try response.body.streamed(), until: end, limit: limit) { data in
                try makeDecoder().value(Value.self, from: data)
            }
        }
    }
}
