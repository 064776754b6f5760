import Requests
import RequestsHTTP1
import RequestsPOSIX

extension RequestError {
    /// The connection ended, by an error of the system.
    static func lost(_ error: SystemError) -> RequestError {
        RequestError(.connectionLost, detail: error.description, underlying: error)
    }

    /// No connection came about, by an error of the system.
    static func notConnected(_ error: SystemError) -> RequestError {
        RequestError(.connectionFailed, detail: error.description, underlying: error)
    }

    /// The response cannot be used; `cause` is what ended the sending, when that failed before.
    init(_ error: WireError, cause: SystemError? = nil) {
        switch error {
        case .violation: self.init(.protocolViolation, detail: error.description, underlying: error)
        case .tooLarge(let limit):
            self.init(.tooLarge(limit: limit.value), detail: error.description, underlying: error)
        case .truncated:
            self.init(.connectionLost, detail: cause?.description ?? error.description, underlying: cause ?? error)
        }
    }

    /// The resolver gave no addresses; `patience` knows which limit that was, if one.
    init(_ error: ResolverError, _ patience: Patience) {
        switch error {
        case .hostNotFound(let text), .temporaryFailure(let text), .failed(let text):
            self.init(.hostNotFound, detail: text, underlying: error)
        case .timedOut: self = patience.error(.timedOut, until: patience.connecting, in: .resolving)
        case .cancelled: self.init(.cancelled)
        case .system(let error): self = .notConnected(error)
        }
    }
}

extension WireLimit {
    /// The number that was passed, in the unit the limit counts.
    fileprivate var value: Int {
        switch self {
        case .startLine(let value), .fieldLine(let value), .head(let value), .fields(let value),
            .interimResponses(let value), .chunkExtensions(let value), .trailers(let value):
            value
        }
    }
}
