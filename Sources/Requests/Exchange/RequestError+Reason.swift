extension RequestError {
    /// Why a call failed.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The request cannot be sent as described; nothing was sent.
        case invalidRequest(InvalidRequest)
        /// The body could not be produced, or was not as long as declared.
        case bodyNotEncoded
        /// A redirect or retry needs a body that can be sent only once.
        case bodyNotReplayable
        /// The credentials the request needs could not be had.
        case notAuthenticated
        /// The executor does not speak the URL's scheme; nothing was sent.
        case unsupportedScheme
        /// The host's name has no address.
        case hostNotFound
        /// No connection came about: refused, unreachable, or a limit of the system; nothing was sent.
        case connectionFailed
        /// The connection ended before the response did.
        case connectionLost
        /// The peer sent what HTTP does not allow.
        case protocolViolation
        /// The response is longer than the limit, in bytes, or a body that has to be stored before it is sent.
        case tooLarge(limit: Int)
        /// The validator refused the status.
        case unacceptableStatus
        /// A redirect that is not followed: by policy, because the limit is reached, or because its target is refused.
        case unexpectedRedirect
        /// The validator refused the content type.
        case unexpectedContentType
        /// The decoder needs a body and there is none.
        case unexpectedNoContent
        /// The decoder could not read the body.
        case notDecoded
        /// A limit of the request's ``Timeouts`` passed.
        case timedOut(Phase)
        /// The call was cancelled.
        case cancelled
        /// Something else, told by ``RequestError/underlying`` and ``RequestError/detail``.
        case other
    }

    /// What a call was waiting for when a limit passed.
    public enum Phase: Hashable, Sendable {
        /// The addresses of the host; the connect limit fired.
        case resolving
        /// A free place in the pool of connections; the connect limit fired.
        case waitingForConnection
        /// The connection; the connect limit fired.
        case connecting
        /// The peer to take more of the request; the limit between bytes fired.
        case sending
        /// The first byte of the response; that limit fired.
        case firstByte
        /// The next byte of the response; the limit between bytes fired.
        case betweenBytes
        /// Whatever it was: the limit for the whole call fired.
        case total

        /// Whether a connection stood, so that the server may have seen something.
        var isAfterConnecting: Bool {
            switch self {
            case .resolving, .waitingForConnection, .connecting: false
            case .sending, .firstByte, .betweenBytes, .total: true
            }
        }
    }
}

extension RequestError.Reason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .invalidRequest(let problem): "the request is invalid: \(problem)"
        case .bodyNotEncoded: "the body could not be produced"
        case .bodyNotReplayable: "the body can be sent only once and was needed again"
        case .notAuthenticated: "the credentials could not be had"
        case .unsupportedScheme: "the executor does not speak the URL's scheme"
        case .hostNotFound: "the host was not found"
        case .connectionFailed: "no connection came about"
        case .connectionLost: "the connection ended before the response did"
        case .protocolViolation: "the peer sent what HTTP does not allow"
        case .tooLarge(let limit): "more than \(limit) bytes"
        case .unacceptableStatus: "the status is not acceptable"
        case .unexpectedRedirect: "a redirect was not followed"
        case .unexpectedContentType: "the content type is not acceptable"
        case .unexpectedNoContent: "a body was needed and there was none"
        case .notDecoded: "the body could not be decoded"
        case .timedOut(let phase): "timed out \(phase)"
        case .cancelled: "cancelled"
        case .other: "failed"
        }
    }
}

extension RequestError.Phase: CustomStringConvertible {
    /// What was waited for, and which limit fired.
    public var description: String {
        switch self {
        case .resolving: "looking up the host (connect limit)"
        case .waitingForConnection: "waiting for a free connection (connect limit)"
        case .connecting: "connecting (connect limit)"
        case .sending: "sending (limit between bytes)"
        case .firstByte: "waiting for the first byte (first-byte limit)"
        case .betweenBytes: "waiting for the next byte (limit between bytes)"
        case .total: "(total limit)"
        }
    }
}
