package import Requests
package import RequestsPOSIX

/// The reason why a TLS connection could not be established or has ended.
package struct TLSError: Error, Sendable {
    package let problem: Problem

    /// The reason in one line of plain words, without secrets.
    package let detail: String

    /// The protocol and the certificates of the peer, as far as they are known.
    package let negotiation: TLSConfiguration.Negotiation?

    /// OpenSSL's number for the reason why a certificate was refused, if it is an unusual one.
    package let verificationCode: Int32?

    package init(
        _ problem: Problem, _ detail: String, _ negotiation: TLSConfiguration.Negotiation? = nil,
        verificationCode: Int32? = nil
    ) {
        self.verificationCode = verificationCode
        self.problem = problem
        self.detail = detail
        self.negotiation = negotiation
    }
}

extension TLSError {
    package enum Problem: Hashable, Sendable {
        /// OpenSSL could not be loaded; nothing was sent.
        case unavailable
        /// The configuration is invalid, or a file of it could not be read; nothing was sent.
        case configuration
        /// The certificate of the peer was refused.
        case certificate(RequestError.CertificateProblem)
        /// The peer sent a fatal alert, by its number (RFC 8446 §6).
        case alert(UInt8)
        /// The peers have no version, cipher or application protocol in common.
        case negotiationFailed
        case notTLS
        case protocolViolation
        /// The peer sent many records without data, or too much in the handshake.
        case flood
        case closedInHandshake
        /// The peer closed the connection without close_notify; data may be missing.
        case truncated
        case system(SystemError)
    }
}

extension TLSError {
    /// Whether the peer closed or reset the connection, so that the reason need not concern trust.
    package var isConnectionLoss: Bool {
        switch problem {
        case .closedInHandshake, .truncated: true
        case .system(let error): error.isConnectionLoss
        default: false
        }
    }
}

extension TLSError {
    /// Whether a further connection would fail in the same way.
    package var isPermanent: Bool {
        switch problem {
        case .unavailable, .configuration, .certificate, .negotiationFailed, .notTLS: true
        // An internal error of the peer, or a user who cancelled there.
        case .alert(let number): ![80, 90].contains(number)
        case .protocolViolation, .flood, .closedInHandshake, .truncated, .system: false
        }
    }
}

extension TLSError: CustomStringConvertible {
    package var description: String { detail }
}

/// The alerts of TLS (RFC 8446 §6, RFC 5246 §7.2).
enum TLSAlert {
    /// Returns the meaning of a fatal alert, in plain words.
    static func meaning(of number: UInt8) -> String {
        switch number {
        case 10: "an unexpected message"
        case 20: "a record that could not be verified"
        case 22: "a record that is too long"
        case 40: "no acceptable version, cipher or certificate"
        case 42: "the certificate cannot be verified"
        case 43: "the certificate is of an unsupported kind"
        case 44: "the certificate has been revoked"
        case 45: "the certificate has expired"
        case 46: "the certificate is not acceptable"
        case 47: "an invalid value"
        case 48: "the issuer of the certificate is unknown"
        case 49: "access denied"
        case 50: "a message that could not be decoded"
        case 51: "a signature that could not be verified"
        case 70: "the version of TLS is not supported"
        case 71: "the ciphers are not strong enough"
        case 80: "an internal error"
        case 86: "a downgraded version of TLS"
        case 90: "cancelled by the user"
        case 100: "renegotiation is refused"
        case 109: "a missing extension"
        case 110: "an unsupported extension"
        case 112: "the server name is unknown"
        case 116: "a client certificate is required"
        case 120: "no common application protocol; set httpVersion to a version that the server supports"
        default: "an unknown reason"
        }
    }

    /// The alerts that mean that the peers have nothing in common.
    static let negotiationFailed: Set<UInt8> = [70, 71, 120]
}
