import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX
import RequestsTLS

extension RequestError {
    /// Returns the error of a connection that ended while it carried an exchange.
    static func lost(_ error: StreamError) -> RequestError {
        switch error {
        case .system(let error): RequestError(.connectionLost, detail: error.description, underlying: error)
        case .tls(let error): RequestError(error, ifLost: .connectionLost)
        }
    }

    /// Creates the error of a TLS connection, with `reason` if the peer has closed or reset it.
    init(_ error: TLSError, ifLost reason: Reason) {
        let new = RequestError(Self.reason(of: error, ifLost: reason), detail: error.detail, underlying: error)
            .adding(tls: error.negotiation)
        self = error.isPermanent ? new.permanent() : new
    }

    private static let http2Advice = "if the server supports only HTTP/2, set httpVersion to .http2PriorKnowledge"

    private static func reason(of error: TLSError, ifLost reason: Reason) -> Reason {
        switch error.problem {
        case .unavailable: .tlsUnavailable
        case .configuration: .invalidRequest(.invalidTLSConfiguration)
        case .certificate(let problem): .certificateRefused(problem)
        case .alert, .negotiationFailed, .notTLS, .protocolViolation, .flood: .tlsFailed
        case .closedInHandshake, .truncated, .system: reason
        }
    }

    /// Returns the error of a connection that could not be established.
    static func notConnected(_ error: SystemError) -> RequestError {
        RequestError(.connectionFailed, detail: error.description, underlying: error)
    }

    init(_ error: FileError) {
        self.init(.fileAccessFailed, detail: error.description, underlying: error)
    }

    /// Creates the error of an unusable response; `cause` is the error that ended sending before, if any.
    init(_ error: WireError, cause: StreamError? = nil) {
        switch error {
        case .violation(.http2):
            self.init(.protocolViolation, detail: "\(error); \(Self.http2Advice)", underlying: error)
        case .violation: self.init(.protocolViolation, detail: error.description, underlying: error)
        case .tooLarge(let limit):
            self.init(.tooLarge(limit: limit.value), detail: error.description, underlying: error)
        case .truncated:
            self.init(
                .connectionLost, detail: cause?.description ?? error.description, underlying: cause?.cause ?? error)
        }
    }

    init(_ error: ResolverError) {
        switch error {
        case .hostNotFound(let text), .temporaryFailure(let text), .failed(let text):
            self.init(.hostNotFound, detail: text, underlying: error)
        case .system(let error): self = .notConnected(error)
        }
    }
}

extension RequestError {
    /// Creates the error for a violation of HTTP/2 or of a limit.
    init(_ error: HTTP2Error, _ limits: HTTP2Limits) {
        let reason: Reason =
            switch error.violation {
            case .headerListTooLarge, .headerBlockTooLarge: .tooLarge(limit: limits.headBytes)
            case .manyInterims: .tooLarge(limit: limits.interimResponses)
            case .unacknowledgedPing: .connectionLost
            default: .protocolViolation
            }
        self.init(reason, detail: error.description, underlying: error)
    }

    /// Creates the error of a stream that was reset before its response had ended.
    init(_ reset: StreamReset, _ goAway: Frame.GoAway?, _ limits: HTTP2Limits) {
        if let error = reset.error {
            self.init(error, limits)
        } else if let goAway, reset.isUnprocessed {
            self.init(goAway)
        } else {
            let error = RequestError(
                .connectionLost, detail: "the server reset the stream: \(reset.code) (RFC 9113 §7)")
            self = reset.code == .http11Required ? error.permanent() : error
        }
    }

    /// Creates the error of a connection that the server has ended with GOAWAY.
    init(_ goAway: Frame.GoAway, cause: StreamError? = nil) {
        var detail = "the server ended the connection with GOAWAY: \(goAway.code)"
        if !goAway.debugData.isEmpty { detail += ", \(ErrorText.quoted(goAway.debugText))" }
        self.init(.connectionLost, detail: detail, underlying: cause?.cause)
    }
}

extension WireLimit {
    /// The limit, in the unit of what it limits, such as bytes or fields.
    fileprivate var value: Int {
        switch self {
        case .startLine(let value), .fieldLine(let value), .head(let value), .fields(let value),
            .interimResponses(let value), .chunkExtensions(let value), .trailers(let value):
            value
        }
    }
}
