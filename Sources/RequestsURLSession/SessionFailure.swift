/// An error of URLSession, with its translation to a reason of this library (L4, T-87).
///
/// The codes differ between the two implementations: Foundation on Linux has a code for only a few of libcurl's results
/// and reports all others as unknown, with libcurl's own text.
package struct SessionFailure {
    /// The implementation of URLSession: Apple's, or Foundation's on Linux over libcurl.
    package enum Implementation: Hashable, Sendable {
        case darwin, curl

        /// The implementation on this platform.
        package static var current: Implementation { Platform.implementation }
    }

    package let code: URLError.Code
    package let text: String

    package init(code: URLError.Code, text: String) {
        self.code = code
        self.text = text
    }

    init(_ error: any Error) {
        code = (error as? URLError)?.code ?? .unknown
        text = (error as NSError).localizedDescription
    }

    /// Returns the reason for this error of `implementation`, the same that every executor reports.
    package func reason(of implementation: Implementation) -> RequestError.Reason {
        switch code {
        case .cancelled: return .cancelled
        case .cannotFindHost, .dnsLookupFailed: return .hostNotFound
        case .networkConnectionLost: return .connectionLost
        case .cannotConnectToHost, .timedOut, .notConnectedToInternet, .internationalRoamingOff, .callIsActive,
            .dataNotAllowed, .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
            .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
            .clientCertificateRequired, .appTransportSecurityRequiresSecureConnection:
            return .connectionFailed
        case .cannotDecodeRawData, .cannotDecodeContentData, .cannotParseResponse: return .protocolViolation
        // With libcurl an empty response, with Apple's implementation a malformed one.
        case .badServerResponse: return implementation == .curl ? .connectionLost : .protocolViolation
        // The executor has already checked the scheme, so libcurl reports HTTP/0.9 in the response with this code.
        case .unsupportedURL, .badURL: return implementation == .curl ? .protocolViolation : .unsupportedScheme
        case .unknown where implementation == .curl: return Self.reason(ofText: text)
        default: return .other
        }
    }

    /// Whether repeating the request would fail in the same way.
    ///
    /// The certificate of the server or the client was refused, or the system does not allow the connection.
    package var isPermanent: Bool {
        switch code {
        case .serverCertificateHasBadDate, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
            .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired,
            .appTransportSecurityRequiresSecureConnection:
            true
        // libcurl has no code for it, only a text.
        case .unknown: text.localizedStandardContains("certificate")
        default: false
        }
    }

    private static func reason(ofText text: String) -> RequestError.Reason {
        reasons.first { text.localizedStandardContains($0.fragment) }?.reason ?? .other
    }

    /// Fragments of libcurl's texts, the more specific ones first.
    ///
    /// The first one that matches determines the reason.
    private static let reasons: [(fragment: String, reason: RequestError.Reason)] = [
        ("transfer closed", .connectionLost), ("recv failure", .connectionLost), ("send failure", .connectionLost),
        ("failure when receiving", .connectionLost), ("failed sending", .connectionLost),
        ("connection died", .connectionLost), ("ssl_read", .connectionLost), ("ssl_write", .connectionLost),
        ("ssl", .connectionFailed), ("tls", .connectionFailed), ("certificate", .connectionFailed),
        ("connect", .connectionFailed),
        ("header", .protocolViolation), ("chunk", .protocolViolation), ("content", .protocolViolation),
        ("server reply", .protocolViolation), ("http", .protocolViolation), ("out of memory", .protocolViolation),
    ]
}
