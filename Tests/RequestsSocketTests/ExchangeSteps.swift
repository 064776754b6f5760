import Requests
import RequestsPOSIX
import RequestsSocket
import Testing

/// An exchange that is advanced step by step, as text.
struct ExchangeSteps: ~Copyable {
    var exchange: Exchange<ScriptedCarrier>
    var log: [String] = []
    /// The limits of the events that were needed.
    var limits: [Deadline] = []

    init(
        _ request: PreparedRequest, _ arrivals: [ScriptedCarrier.Arrival],
        accepting: [ScriptedCarrier.Acceptance] = [], isReused: Bool = false, receivesAtOnce: Bool = true,
        sendsFiles: Bool = false, hasPartialWrite: Bool = false, refusal: StreamRefusal? = nil
    ) throws {
        var carrier = ScriptedCarrier(arrivals, accepting: accepting, sendsFiles: sendsFiles)
        carrier.hasPartialWrite = hasPartialWrite
        carrier.refusal = refusal
        exchange = Exchange(try OutgoingRequest(request), on: carrier, isReused: isReused)
        exchange.receivesAtOnce = receivesAtOnce
    }

    private init(_ exchange: consuming Exchange<ScriptedCarrier>) {
        self.exchange = exchange
    }

    /// Advances until nothing more is needed or `count` needs were recorded, providing each need at once.
    ///
    /// A source without `pieces` pauses.
    mutating func advance(_ count: Int = 100, pieces: [String?] = []) throws(RequestError) {
        var pieces = pieces
        while log.count < count, let need = try exchange.advance() {
            log.append(need.text)
            if case .event(_, let limit, _) = need { limits.append(limit) }
            exchange.pause()
            if need == .piece, !pieces.isEmpty { try offer(pieces.removeFirst()) }
        }
    }

    /// Advances until the exchange fails, and returns its transmission and its error.
    mutating func lose(pieces: [String?] = []) throws -> (lost: LostTransmission, error: RequestError) {
        let error = #expect(throws: RequestError.self) { try advance(pieces: pieces) }
        let lost = exchange.lost
        return (try #require(lost), try #require(error))
    }

    /// Ends the exchange, and returns one that transmits its request again on `carrier`.
    consuming func transmitting(on carrier: consuming ScriptedCarrier, after lost: LostTransmission) -> ExchangeSteps {
        ExchangeSteps(Exchange(exchange.end(), on: carrier, isReused: false, after: lost))
    }

    /// Offers a piece of the body, or its end.
    mutating func offer(_ piece: String?) throws(RequestError) {
        try exchange.offer(piece.map { Data($0.utf8) })
    }

    var body: String? {
        mutating get { text(of: exchange.response().body) }
    }
}

func text(of body: ResponseBody) -> String? {
    guard case .bytes(let data) = body else { return nil }
    return String(decoding: data, as: UTF8.self)
}

extension ExchangeNeed {
    /// The kind of need, without its instant.
    fileprivate var text: String {
        switch self {
        case .event(let wanted, _, let phase):
            (wanted == .both ? "write or read" : wanted == .writing ? "write" : wanted.isEmpty ? "nothing" : "read")
                + " \(phase.timeoutName)"
        case .turn: "turn"
        case .piece: "piece"
        }
    }
}

extension RequestError.Phase {
    /// The name of the limit that ends a wait in this phase.
    fileprivate var timeoutName: String {
        switch self {
        case .firstByte: "firstByte"
        case .betweenBytes: "betweenBytes"
        case .sending: "sending"
        default: "\(self)"
        }
    }
}

extension PreparedRequest {
    /// Returns a request to `http://example.com/path`.
    static func example(
        _ method: HTTPMethod = .get, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 100),
        continueTimeout: Duration? = nil
    ) throws -> PreparedRequest {
        var request = try PreparedRequest(
            method: method, url: try #require(URL(string: "http://example.com/path")), body: body)
        request.delivery = delivery
        request.continueTimeout = continueTimeout
        return request
    }
}
