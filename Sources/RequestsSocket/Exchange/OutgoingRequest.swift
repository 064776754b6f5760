package import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX

/// A request that has been checked as far as possible without a connection, with its body opened.
///
/// It cannot be copied: copying it took a tenth of an exchange's time.
package struct OutgoingRequest: ~Copyable, Sendable {
    let request: PreparedRequest
    /// The fields that the executor adds; each is left out if the request has a field with its name.
    private let additions: [RequestHeadWriter.Addition]
    private let form: RequestHeadWriter.Form
    let framing: RequestHeadWriter.Framing
    let payload: Payload
    /// The length of the body in bytes; nil if it is unknown.
    let length: Int?
    /// Whether the body is a file that a carrier may send without reading it.
    let isLargeFile: Bool
    var timeLimits: SocketTimeLimits
    /// The credentials for a proxy, which the proxy may repeat in its response.
    let secrets: [Field]

    /// Checks `request` and opens its body.
    ///
    /// - Parameters:
    ///   - request: The request of the caller.
    ///   - route: The route to the proxy that forwards the request; nil if there is none.
    ///   - transmission: The transmission with the credentials for that proxy; nil if it has no authenticator.
    ///   - timeLimits: The limits of the exchange.
    /// - Throws: `RequestError` if the request cannot be sent.
    init(
        _ request: PreparedRequest, through route: ProxyRoute?, as transmission: ForwardedTransmission?,
        _ timeLimits: SocketTimeLimits
    ) throws(RequestError) {
        let payload = try Payload(request)
        var additions = DefaultFields.additions
        var secrets: [Field] = []
        if let route {
            additions = route.fields
            let authorization = transmission?.authorization
            if let authorization { additions.append(RequestHeadWriter.Addition(authorization)) }
            if let secret = authorization ?? route.authorization { secrets.append(secret) }
        }
        let length = payload.length
        try request.validate()
        self.additions = additions
        form = route == nil ? .origin : .absolute
        framing = request.framing(ofLength: length)
        self.length = length
        isLargeFile = payload.isLargeFile
        self.request = request
        self.payload = payload
        self.timeLimits = timeLimits
        self.secrets = secrets
    }

    /// Checks `request` and opens its body, for tests of the exchange.
    package init(_ request: PreparedRequest) throws(RequestError) {
        try self.init(request, through: nil, as: nil, SocketTimeLimits(request))
    }

    /// The time for which the body waits for 100 (Continue); nil if it is sent with the head.
    var continueTimeout: Duration? { length == 0 ? nil : request.continueTimeout }

    /// Returns the head as an HTTP/1.1 message.
    func head() -> [UInt8] {
        RequestHeadWriter.uncheckedHead(of: request, framing: framing, form: form, adding: additions)
    }

    /// Returns the fields of the head for HTTP/2.
    ///
    /// Requests that a proxy forwards always use HTTP/1.1.
    func fields() -> OutgoingFields {
        OutgoingFields(request, length: length, adding: DefaultFields.fields) { Redaction.standard.isSecret($0) }
    }

    /// Returns the body as it is sent; `sendsFiles` is whether the carrier can send large files without reading them.
    func body(sendsFiles: Bool) -> UnsentBody {
        if case .none = payload { return UnsentBody() }
        return UnsentBody(
            payload, request.trailers, expectsContinue: continueTimeout != nil, sendsFiles: sendsFiles)
    }
}
