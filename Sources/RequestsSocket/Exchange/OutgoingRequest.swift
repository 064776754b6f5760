package import Requests
import RequestsHTTP1
import RequestsPOSIX

/// A request that was checked as far as possible without a connection, with the bytes of its head and its opened body.
package struct OutgoingRequest: Sendable {
    let request: PreparedRequest
    let head: [UInt8]
    let payload: Payload
    private(set) var timeLimits: SocketTimeLimits

    /// Checks `request` and opens its body; `route` is that to the proxy to which it is sent, if there is one.
    init(
        _ request: PreparedRequest, through route: ProxyRoute?, _ timeLimits: SocketTimeLimits
    ) throws(RequestError) {
        self.request = request
        self.timeLimits = timeLimits
        payload = try Payload(request)
        head = try RequestHeadWriter.head(
            of: request, framing: request.framing(ofLength: payload.length),
            form: route == nil ? .origin : .absolute, adding: route?.fields ?? DefaultFields.additions)
    }

    /// Checks `request` and opens its body, for tests of the exchange.
    package init(_ request: PreparedRequest) throws(RequestError) {
        try self.init(request, through: nil, SocketTimeLimits(request))
    }

    /// The time for which the body waits for 100 (Continue); nil if it is sent with the head.
    var continueTimeout: Duration? { payload.length == 0 ? nil : request.continueTimeout }

    /// Returns the bytes to send on a carrier, which `sendsFiles` without reading them or not.
    func upload(sendsFiles: Bool) -> UnsentRequest {
        UnsentRequest(
            head, payload, request.trailers, expectsContinue: continueTimeout != nil, sendsFiles: sendsFiles)
    }

    /// Returns the request with a connect limit that begins again, for a second connection.
    func again() -> OutgoingRequest {
        var copy = self
        copy.timeLimits.renewConnecting()
        return copy
    }
}
