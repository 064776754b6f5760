/// An event of a server-sent event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Hashable, Sendable {
    /// The type of the event; `message` when the server names none.
    public var type: String

    /// The data; several data lines are joined with LF.
    public var data: String

    /// The last event ID that the server has sent, with this event or before it; empty if there is none.
    public var lastEventID: String

    /// Creates an event from its parts.
    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}

extension ServerSentEvent {
    /// A parser of an event stream that accepts its bytes in pieces of any size (WHATWG HTML §9.2.5, §9.2.6).
    ///
    /// It performs no I/O, so it also serves tests and other transports. Lines end with LF, CR or CR LF; a byte order
    /// mark at the beginning is ignored; ill-formed UTF-8 becomes U+FFFD. An incomplete event at the end of the stream
    /// is discarded.
    public struct Parser: Sendable {
        /// The last event ID that the server has sent; it is the value of Last-Event-ID when the stream is requested
        /// again.
        public private(set) var lastEventID: String

        /// The time to wait before the stream is requested again, at most 24 hours; nil when the server has set none.
        public private(set) var reconnectionTime: Duration?

        // In milliseconds; a server must not keep a reader waiting longer than a day.
        private static let maximumReconnectionTime = 24 * 60 * 60 * 1_000

        private let limit: Int
        /// The bytes of the incomplete line.
        private var line: [UInt8] = []
        private var isAfterCarriageReturn = false
        private var isAtStart = true
        private var isOverLimit = false
        private var type: [UInt8] = []
        /// The values of the data fields, each followed by LF; decoded once, when the event is complete.
        private var data: [UInt8] = []
        private var eventID: String

        /// Creates a parser for a stream that begins.
        ///
        /// - Parameters:
        ///   - lastEventID: The last event ID of the stream that this one continues.
        ///   - limit: The maximum number of bytes in one event: its data, its type and the line being read. A line that
        ///     is not part of an event, such as a comment, has the same limit.
        public init(lastEventID: String = "", limit: Int = 1 << 20) {
            self.lastEventID = lastEventID
            eventID = lastEventID
            self.limit = limit
        }

        /// Reads the next bytes of the stream and returns the events that they complete.
        ///
        /// - Throws: ``RequestError/Reason/tooLarge(limit:)`` for an event or a line over the limit; every further call
        ///   throws it again. Use ``read(_:into:)`` to keep the events before it.
        public mutating func read(_ bytes: some Sequence<UInt8>) throws(RequestError) -> [ServerSentEvent] {
            var events: [ServerSentEvent] = []
            try read(bytes, into: &events)
            return events
        }

        /// Reads the next bytes of the stream and appends the events that they complete to `events`.
        ///
        /// - Throws: ``RequestError/Reason/tooLarge(limit:)`` for an event or a line over the limit; every further call
        ///   throws it again. The events before it have been appended.
        public mutating func read(
            _ bytes: some Sequence<UInt8>, into events: inout [ServerSentEvent]
        ) throws(RequestError) {
            // One copy of the chunk makes the search for line ends a loop over plain memory.
            let bytes = Array(bytes)
            var start = 0
            while start < bytes.count {
                // CR LF is one line end, also when the chunk ends between them.
                if isAfterCarriageReturn, bytes[start] == 0x0A { start += 1 }
                isAfterCarriageReturn = false
                var end = start
                while end < bytes.count, bytes[end] != 0x0A, bytes[end] != 0x0D { end += 1 }
                try append(bytes[start..<end])
                guard end < bytes.count else { return }
                isAfterCarriageReturn = bytes[end] == 0x0D
                if let event = endLine() { events.append(event) }
                start = end + 1
            }
        }

        private mutating func append(_ bytes: ArraySlice<UInt8>) throws(RequestError) {
            // The sum cannot overflow, because each array fits in memory.
            isOverLimit = isOverLimit || line.count + bytes.count + data.count + type.count > limit
            guard !isOverLimit else {
                throw RequestError(.tooLarge(limit: limit), detail: "an event is longer than \(ErrorText.bytes(limit))")
            }
            line.append(contentsOf: bytes)
        }

        /// Processes the complete line; an empty line returns the event that it ends.
        private mutating func endLine() -> ServerSentEvent? {
            defer { line.removeAll(keepingCapacity: true) }
            var content = line[...]
            if isAtStart, content.starts(with: [0xEF, 0xBB, 0xBF]) { content = content.dropFirst(3) }
            isAtStart = false
            if content.isEmpty { return dispatch() }
            let colon = content.firstIndex(of: UInt8(ascii: ":")) ?? content.endIndex
            var value = content[colon...].dropFirst()
            if value.first == 0x20 { value = value.dropFirst() }
            field(content[..<colon], value)
            return nil
        }

        /// Stores the value of a field; unknown fields, and an ID that contains NUL, are ignored.
        private mutating func field(_ name: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>) {
            if name.elementsEqual("data".utf8) {
                data.append(contentsOf: value)
                data.append(0x0A)
            } else if name.elementsEqual("event".utf8) {
                type = Array(value)
            } else if name.elementsEqual("id".utf8) {
                if !value.contains(0) { eventID = String(decoding: value, as: UTF8.self) }
            } else if name.elementsEqual("retry".utf8), let time = Self.milliseconds(value) {
                reconnectionTime = .milliseconds(time)
            }
        }

        /// Returns the number that `digits` represent, limited to 24 hours; nil if it has no digits or other
        /// characters.
        private static func milliseconds(_ digits: ArraySlice<UInt8>) -> Int? {
            guard !digits.isEmpty, digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
            // The value is bounded at each digit, so it cannot overflow, however many digits there are.
            return digits.reduce(0) { min($0 * 10 + Int($1 &- 0x30), maximumReconnectionTime) }
        }

        /// Ends the event and returns it; nil when it has no data.
        private mutating func dispatch() -> ServerSentEvent? {
            lastEventID = eventID
            defer {
                type.removeAll(keepingCapacity: true)
                data.removeAll(keepingCapacity: true)
            }
            guard !data.isEmpty else { return nil }
            return ServerSentEvent(
                type: type.isEmpty ? "message" : String(decoding: type, as: UTF8.self),
                data: String(decoding: data.dropLast(), as: UTF8.self), lastEventID: lastEventID)
        }
    }
}
