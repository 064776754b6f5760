/// One event of a server-sent event stream (WHATWG HTML §9.2).
public struct ServerSentEvent: Hashable, Sendable {
    /// The event's type; `message` when the server names none.
    public var type: String

    /// The data; several lines are joined with LF.
    public var data: String

    /// The last id the server has sent, with this event or before; empty when there is none.
    public var lastEventID: String

    /// An event of the parts given.
    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}

/// Reads an event stream from bytes in any pieces (WHATWG HTML §9.2.5, §9.2.6): pure, for tests and other transports.
///
/// Lines end with LF, CR or CR LF; a byte order mark at the beginning is ignored; ill-formed UTF-8 becomes U+FFFD. An
/// event that the stream ends in the middle of is no event.
public struct EventStreamParser: Sendable {
    /// The last id the server has sent; what is sent as Last-Event-ID when the stream is asked for again.
    public private(set) var lastEventID: String

    /// How long the server wants to be left alone before the stream is asked for again; nil when it has not said.
    public private(set) var reconnectionTime: Duration?

    private let limit: Int
    private var pending: [UInt8] = []
    private var isAfterCarriageReturn = false
    private var isAtStart = true
    private var type = ""
    private var data: String?
    private var eventID: String

    /// A parser at the beginning of a stream.
    ///
    /// - Parameters:
    ///   - lastEventID: The last id of the stream that this one goes on from.
    ///   - limit: How many bytes an event may have; more is ``RequestError/Reason/tooLarge(limit:)``.
    public init(lastEventID: String = "", limit: Int = 1 << 20) {
        self.lastEventID = lastEventID
        eventID = lastEventID
        self.limit = limit
    }

    /// Reads the next bytes of the stream; gives the events that they complete.
    ///
    /// - Throws: ``RequestError/Reason/tooLarge(limit:)`` for an event over the limit.
    public mutating func read(_ bytes: some Sequence<UInt8>) throws(RequestError) -> [ServerSentEvent] {
        var events: [ServerSentEvent] = []
        for byte in bytes {
            let isSecondHalf = isAfterCarriageReturn && byte == 0x0A
            isAfterCarriageReturn = byte == 0x0D
            if isSecondHalf { continue }
            guard byte == 0x0A || byte == 0x0D else {
                pending.append(byte)
                guard pending.count + (data?.utf8.count ?? 0) <= limit else {
                    throw RequestError(.tooLarge(limit: limit), detail: "one event")
                }
                continue
            }
            if let event = endLine() { events.append(event) }
        }
        return events
    }

    /// Handles the line that is complete; an empty one gives the event that it ends.
    private mutating func endLine() -> ServerSentEvent? {
        if isAtStart, pending.starts(with: [0xEF, 0xBB, 0xBF]) { pending.removeFirst(3) }
        isAtStart = false
        defer { pending.removeAll(keepingCapacity: true) }
        if pending.isEmpty { return dispatch() }
        let colon = pending.firstIndex(of: UInt8(ascii: ":")) ?? pending.count
        var value = pending.dropFirst(colon + 1)
        if value.first == 0x20 { value = value.dropFirst() }
        field(String(decoding: pending[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        return nil
    }

    private mutating func field(_ name: String, _ value: String) {
        switch name {
        case "event": type = value
        case "data": data = data.map { "\($0)\n\(value)" } ?? value
        case "id": if !value.unicodeScalars.contains("\0") { eventID = value }
        case "retry":
            guard !value.isEmpty, value.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else { return }
            reconnectionTime = .milliseconds(Int(value) ?? .max)
        default: break
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        lastEventID = eventID
        defer {
            type = ""
            data = nil
        }
        return data.map { ServerSentEvent(type: type.isEmpty ? "message" : type, data: $0, lastEventID: lastEventID) }
    }
}
