#if canImport(Darwin)
import Security

// Apple's part of TLS settings: it applies the values of SessionTLS, and requests the evaluation of the system.

extension Platform {
    /// Requires a version of TLS, unless the session's configuration requires a later one.
    static func require(_ minimum: TLSConfiguration.Version, in configuration: URLSessionConfiguration) {
        let version: tls_protocol_version_t =
            switch minimum {
            case .tls12: .TLSv12
            case .tls13: .TLSv13
            }
        if configuration.tlsMinimumSupportedProtocolVersion.rawValue < version.rawValue {
            configuration.tlsMinimumSupportedProtocolVersion = version
        }
    }

    /// Evaluates the server of a challenge; nil if it is not about a server, or if the system alone decides.
    static func evaluation(_ challenge: URLAuthenticationChallenge, with tls: SessionTLS) -> ServerEvaluation? {
        let space = challenge.protectionSpace
        // Only a challenge of a server has a trust.
        guard !tls.leavesServersToSystem, let trust = space.serverTrust else { return nil }
        let result = evaluation(of: trust, named: tls.serverName ?? space.host, with: tls)
        return ServerEvaluation(
            refusal: tls.refusal(result, of: space.host, chain: certificates(of: trust)),
            credential: URLCredential(trust: trust))
    }

    private static func evaluation(
        of trust: SecTrust, named host: String, with tls: SessionTLS
    ) -> SessionTLS.Evaluation {
        // The policy verifies the name, and that the certificate is one of a server.
        var status = SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, NSString(string: host) as CFString))
        if !tls.anchors.isEmpty || !tls.trustsSystem {
            let anchors = tls.anchors.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
            guard anchors.count == tls.anchors.count else {
                return .failed(status: Int(errSecDecode), text: "a trusted certificate could not be read")
            }
            if status == errSecSuccess {
                status = SecTrustSetAnchorCertificates(trust, NSArray(array: anchors) as CFArray)
            }
            // Without this call only the anchors would be trusted.
            if status == errSecSuccess { status = SecTrustSetAnchorCertificatesOnly(trust, !tls.trustsSystem) }
        }
        // A setting that was not applied must not lead to trust.
        guard status == errSecSuccess else {
            return .failed(status: Int(status), text: "the trust could not be set (status \(status))")
        }
        var error: CFError?
        if SecTrustEvaluateWithError(trust, &error) { return .trusted }
        guard let error else { return .failed(status: 0, text: "the certificate is not trusted") }
        return .failed(status: CFErrorGetCode(error), text: error.localizedDescription)
    }

    /// Returns the chain as DER, the certificate of the server first.
    private static func certificates(of trust: SecTrust) -> [Data] {
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
        return (chain ?? []).map { SecCertificateCopyData($0) as Data }
    }
}
#endif
