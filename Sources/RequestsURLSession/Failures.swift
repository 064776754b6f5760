/// Reads an error of URLSession as a reason of this library (L4, T-87).
///
/// The codes mean different things on the two implementations: Foundation on Linux has a word for few of libcurl's
/// results and calls the rest “unknown”, with libcurl's own text.
package struct SessionFailure {
    /// Whose URLSession it was.
    package enum Implementation: Hashable, Sendable {
        case darwin, curl

        /// The one of this platform.
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

    /// The reason, the same on every executor.
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
        // A response without a byte to libcurl, one without sense to Apple.
        case .badServerResponse: return implementation == .curl ? .connectionLost : .protocolViolation
        // Schemes have been checked before: to libcurl the answer had one that it does not know (HTTP/0.9).
        case .unsupportedURL, .badURL: return implementation == .curl ? .protocolViolation : .unsupportedScheme
        case .unknown where implementation == .curl: return Self.reason(ofText: text)
        default: return .other
        }
    }

    private static func reason(ofText text: String) -> RequestError.Reason {
        reasons.first { text.localizedStandardContains($0.fragment) }?.reason ?? .other
    }

    /// What libcurl's texts hold, most telling first.
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
