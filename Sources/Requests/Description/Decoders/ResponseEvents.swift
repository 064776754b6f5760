import Synchronization

/// The events of a server-sent event stream: a sequence that can be read once, and pulls.
///
/// Dropping it before its end closes the connection.
public struct ResponseEvents: AsyncSequence, Sendable {
    /// What ended the body early, or ``RequestError/Reason/tooLarge(limit:)`` for an event over the limit.
    public typealias Failure = RequestError

    private let stream: ResponseStream
    private let limit: Int
    private let position: EventStreamPosition

    /// The events of `stream`, none longer than `limit` bytes.
    public init(_ stream: ResponseStream, limit: Int = 1 << 20) {
        self.init(stream, limit: limit, position: EventStreamPosition())
    }

    init(_ stream: ResponseStream, limit: Int, position: EventStreamPosition) {
        self.stream = stream
        self.limit = limit
        self.position = position
    }

    /// The last id that has been read; empty when there is none.
    public var lastEventID: String { position.lastEventID }

    /// How long the server wants to be left alone before it is asked again; nil when it has not said.
    public var reconnectionTime: Duration? { position.reconnectionTime }

    /// The events of this stream, going on from `position`, which is kept up to date.
    func continuing(_ position: EventStreamPosition) -> ResponseEvents {
        ResponseEvents(stream, limit: limit, position: position)
    }

    /// Begins to read; the events can be read once, by one iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(
            stream: stream, parser: EventStreamParser(lastEventID: position.lastEventID, limit: limit),
            position: position)
    }

    /// Pulls events from the response.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let stream: ResponseStream
        fileprivate var parser: EventStreamParser
        fileprivate let position: EventStreamPosition
        private var events: ArraySlice<ServerSentEvent> = []
        private var failure: RequestError?

        fileprivate init(stream: ResponseStream, parser: EventStreamParser, position: EventStreamPosition) {
            self.stream = stream
            self.parser = parser
            self.position = position
        }

        /// The next event; nil at the end.
        public mutating func next() async throws(RequestError) -> ServerSentEvent? {
            try await next(isolation: #isolation)
        }

        /// The next event; nil at the end.
        ///
        /// - Throws: What ended the events early, again at every further call.
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
                    failure = error
                }
                // An id without an event counts too, and the connection may be lost before the next event.
                let lastEventID = events.isEmpty ? parser.lastEventID : nil
                position.update(lastEventID: lastEventID, reconnectionTime: parser.reconnectionTime)
            }
            let event = events.popFirst()
            position.update(lastEventID: event?.lastEventID ?? parser.lastEventID)
            return event
        }
    }
}

/// Where a reader of events stands, so that another stream can go on from there.
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

extension ResponseDecoder where Response == ResponseEvents {
    /// Server-sent events, `text/event-stream`, as they arrive and no faster than they are asked for.
    public static let events = ResponseDecoder.events()

    /// Server-sent events, none longer than `limit` bytes.
    public static func events(limit: Int = 1 << 20) -> ResponseDecoder {
        ResponseDecoder(
            accepting: [MediaType(type: .text, subtype: "event-stream")],
            streaming: { _, stream in ResponseEvents(stream, limit: limit) })
    }
}
