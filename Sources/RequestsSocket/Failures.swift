import Requests
import RequestsHTTP1
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

    private static let http2Advice = "SocketExecutor supports only HTTP/1.1; use URLSessionExecutor for HTTP/2"

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

extension WireLimit {
    /// The limit, in bytes or fields or whatever it counts.
    fileprivate var value: Int {
        switch self {
        case .startLine(let value), .fieldLine(let value), .head(let value), .fields(let value),
            .interimResponses(let value), .chunkExtensions(let value), .trailers(let value):
            value
        }
    }
}
