extension RequestError {
    /// The reason why a call failed.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The request cannot be sent as described; nothing was sent.
        case invalidRequest(RequestError.InvalidRequest)
        /// The request body could not be produced, or did not have its declared length.
        case bodyEncodingFailed
        /// A file could not be read or written: the file of a request body or of a download.
        ///
        /// A missing, unreadable or too short body file is found before anything is sent.
        case fileAccessFailed
        /// A redirect or retry needs a body that can be sent only once.
        case bodyNotReplayable
        /// The credentials of the request are unavailable, or a server refused to issue them; without a response,
        /// nothing was sent.
        case credentialsUnavailable
        /// The executor does not support the scheme of the URL; nothing was sent.
        case unsupportedScheme
        /// The executor has ended its work and accepts no new requests; nothing was sent.
        case executorClosed
        /// The name of the host could not be resolved; nothing was sent.
        case hostNotFound
        /// The connection could not be established: refused, unreachable, or a system limit; nothing was sent.
        case connectionFailed
        /// The proxy refused to connect to the host of the URL; nothing was sent.
        ///
        /// If it is an HTTP proxy, ``RequestError/response`` has its status: 407 if it requires other credentials.
        case proxyRefused
        /// TLS cannot be used here: no usable TLS library is installed; nothing was sent.
        case tlsUnavailable
        /// The certificate of the server was refused; nothing was sent.
        case certificateRefused(CertificateProblem)
        /// TLS failed for another reason.
        ///
        /// The peers have no version in common, the server does not use TLS, or it refused the connection, for example
        /// because it requires a client certificate.
        case tlsFailed
        /// The connection was lost before the response was complete.
        case connectionLost
        /// The peer violated the HTTP protocol.
        case protocolViolation
        /// A limit was exceeded.
        ///
        /// It limits the bytes of a response, the bytes of a request body that must be stored before it is sent, or the
        /// number of fields or interim responses.
        case tooLarge(limit: Int)
        /// The validator rejected the status.
        case unacceptableStatus
        /// The validator rejected a 304 response to the request's own If-None-Match or If-Modified-Since.
        ///
        /// The representation has not been modified (RFC 9110 §15.4.5).
        case notModified
        /// A redirect was not followed: by policy, because the limit was reached, or because its target is not allowed.
        case unexpectedRedirect
        /// The validator rejected the content type.
        case unexpectedContentType
        /// The decoder requires a body, and the response has none.
        case unexpectedNoContent
        /// The decoder could not decode the body.
        case decodingFailed
        /// A limit of the request's ``Timeouts`` was exceeded.
        case timedOut(Phase)
        /// The call was cancelled.
        case cancelled
        /// Another reason; see ``RequestError/underlying`` and ``RequestError/detail``.
        case other
    }

    /// The phase of a call in which a time limit was exceeded.
    @nonexhaustive
    public enum Phase: Hashable, Sendable {
        /// Resolving the name of the host; the limit is ``Timeouts/connect``.
        case resolving
        /// Waiting for a free connection of the pool, or until a server with HTTP/2 allows another request on the
        /// connection; the limit is ``Timeouts/connect``.
        case waitingForConnection
        /// Establishing the connection; the limit is ``Timeouts/connect``.
        case connecting
        /// Performing the TLS handshake; the limit is ``Timeouts/connect``.
        case securing
        /// Sending the request to a peer that does not read it; the limit is ``Timeouts/betweenBytes``.
        case sending
        /// Waiting for the first byte of the response; the limit is ``Timeouts/firstByte``.
        case firstByte
        /// Receiving the response; the limit is ``Timeouts/betweenBytes``.
        case betweenBytes
        /// Any part of the call; the limit is ``Timeouts/total``.
        case total

        /// Whether the connection was established: the server may then have received the request.
        var isAfterConnecting: Bool {
            switch self {
            case .resolving, .waitingForConnection, .connecting, .securing: false
            case .sending, .firstByte, .betweenBytes, .total: true
            }
        }
    }
}

extension RequestError.Reason: CustomStringConvertible {
    /// The reason in a few words.
    public var description: String {
        switch self {
        case .invalidRequest(let problem): "invalid request: \(problem)"
        case .bodyEncodingFailed: "could not produce the request body"
        case .fileAccessFailed: "could not access a file"
        case .bodyNotReplayable: "the request body cannot be sent again"
        case .credentialsUnavailable: "credentials unavailable"
        case .unsupportedScheme: "unsupported URL scheme"
        case .hostNotFound: "could not resolve the host name"
        case .executorClosed: "the executor accepts no new requests"
        case .connectionFailed: "could not connect"
        case .proxyRefused: "the proxy refused to connect"
        case .tlsUnavailable: "TLS is unavailable"
        case .certificateRefused(let problem): "server certificate refused: \(problem)"
        case .tlsFailed: "TLS failed"
        case .connectionLost: "connection lost before the response was complete"
        case .protocolViolation: "HTTP protocol violation"
        // The limit may count bytes, fields or interim responses; the detail has the unit.
        case .tooLarge(let limit): "limit of \(limit) exceeded"
        case .unacceptableStatus: "unacceptable status"
        case .notModified: "not modified; the representation in If-None-Match or If-Modified-Since is current"
        case .unexpectedRedirect: "redirect not followed"
        case .unexpectedContentType: "unacceptable content type"
        case .unexpectedNoContent: "the response has no body"
        case .decodingFailed: "could not decode the response body"
        case .timedOut(let phase): "timed out while \(phase)"
        case .cancelled: "cancelled"
        case .other: "request failed"
        }
    }
}

extension RequestError.Phase: CustomStringConvertible {
    /// The phase and the property of ``Timeouts`` with its limit.
    public var description: String {
        switch self {
        case .resolving: "resolving the host name (Timeouts.connect)"
        case .waitingForConnection: "waiting for a free connection (Timeouts.connect)"
        case .connecting: "connecting (Timeouts.connect)"
        case .securing: "performing the TLS handshake (Timeouts.connect)"
        case .sending: "sending the request (Timeouts.betweenBytes)"
        case .firstByte: "waiting for the response (Timeouts.firstByte)"
        case .betweenBytes: "receiving the response (Timeouts.betweenBytes)"
        case .total: "performing the call (Timeouts.total)"
        }
    }
}
