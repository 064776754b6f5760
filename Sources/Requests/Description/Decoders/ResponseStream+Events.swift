import Synchronization

extension ResponseStream {
    /// The events of a server-sent event stream, as a sequence that can be read once.
    ///
    /// Bytes are read only as events are requested. Releasing the sequence before its end ends the exchange.
    public struct Events: AsyncSequence, Sendable {
        /// The error that ended the body early, or ``RequestError/Reason/tooLarge(limit:)`` for an event over the
        /// limit.
        public typealias Failure = RequestError

        private let stream: ResponseStream
        private let limit: Int
        private let position: EventStreamPosition

        /// Creates a sequence of the events in `stream`.
        ///
        /// An event of more than `limit` bytes ends the sequence with ``RequestError/Reason/tooLarge(limit:)``.
        public init(_ stream: ResponseStream, limit: Int = 1 << 20) {
            self.init(stream, limit: limit, position: EventStreamPosition())
        }

        init(_ stream: ResponseStream, limit: Int, position: EventStreamPosition) {
            self.stream = stream
            self.limit = limit
            self.position = position
        }

        /// The last event ID that has been read; empty when there is none.
        public var lastEventID: String { position.lastEventID }

        /// The time to wait before requesting the stream again, as set by the server; nil when the server has not set
        /// it.
        public var reconnectionTime: Duration? { position.reconnectionTime }

        /// Returns the events of this stream, continued from `position`, which the iterator keeps up to date.
        func continuing(_ position: EventStreamPosition) -> ResponseStream.Events {
            ResponseStream.Events(stream, limit: limit, position: position)
        }

        /// Returns the iterator for the events, which can be read once, by one iterator.
        public func makeAsyncIterator() -> Iterator {
            Iterator(
                stream: stream, parser: ServerSentEvent.Parser(lastEventID: position.lastEventID, limit: limit),
                position: position)
        }

        /// An iterator that reads events from the response.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate let stream: ResponseStream
            fileprivate var parser: ServerSentEvent.Parser
            fileprivate let position: EventStreamPosition
            private var events: ArraySlice<ServerSentEvent> = []
            private var failure: RequestError?

            fileprivate init(stream: ResponseStream, parser: ServerSentEvent.Parser, position: EventStreamPosition) {
                self.stream = stream
                self.parser = parser
                self.position = position
            }

            /// Returns the next event; nil at the end.
            public mutating func next() async throws(RequestError) -> ServerSentEvent? {
                try await next(isolation: #isolation)
            }

            /// Returns the next event; nil at the end.
            ///
            /// - Throws: The error that ended the events early. Every further call throws it again.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RequestError) -> ServerSentEvent? {
                while events.isEmpty {
                    if let failure { throw failure }
                    do {
                        guard let chunk = try await stream.next() else { break }
                        var read: [ServerSentEvent] = []
                        // The events before an error are delivered before the error.
                        defer { events = read[...] }
                        try parser.read(chunk, into: &read)
                    } catch {
                        failure = stream.failure(error)
                    }
                    // An ID without an event counts too, because the connection may be lost before the next event.
                    let lastEventID = events.isEmpty ? parser.lastEventID : nil
                    position.update(lastEventID: lastEventID, reconnectionTime: parser.reconnectionTime)
                }
                let event = events.popFirst()
                position.update(lastEventID: event?.lastEventID ?? parser.lastEventID)
                return event
            }
        }
    }
}

/// The position of a reader in an event stream, from which another stream can continue.
final class EventStreamPosition: Sendable {
    private struct State {
        var lastEventID = ""
        var reconnectionTime: Duration?
    }

    private let state = Mutex(State())

    var lastEventID: String { state.withLock { $0.lastEventID } }
    var reconnectionTime: Duration? { state.withLock { $0.reconnectionTime } }

    func update(lastEventID: String?, reconnectionTime: Duration? = nil) {
        state.withLock { state in
            state.lastEventID = lastEventID ?? state.lastEventID
            state.reconnectionTime = reconnectionTime ?? state.reconnectionTime
        }
    }
}

extension ResponseDecoder where Response == ResponseStream.Events {
    /// A decoder of server-sent events, `text/event-stream`, as they arrive and no faster than you read them.
    public static let events = ResponseDecoder.events()

    /// Returns a decoder of server-sent events, `text/event-stream`.
    ///
    /// An event of more than `limit` bytes ends the events with ``RequestError/Reason/tooLarge(limit:)``.
    public static func events(limit: Int = 1 << 20) -> ResponseDecoder {
        ResponseDecoder(
            accepting: [.eventStream], streaming: { _, stream in ResponseStream.Events(stream, limit: limit) })
    }
}

extension MediaType {
    /// The media type of server-sent events.
    static var eventStream: MediaType { MediaType(type: .text, subtype: "event-stream") }
}
