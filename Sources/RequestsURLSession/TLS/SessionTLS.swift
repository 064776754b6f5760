@_spi(Lock) import Requests
import RequestsPOSIX

/// The part of ``TLSConfiguration`` that a session on Apple's systems can apply, loaded and checked, and its decisions
/// about servers.
///
/// It is a value without Apple's types, so that its decisions are tested on every platform.
package struct SessionTLS: Sendable {
    /// Whether chains and names are verified.
    package let isVerifying: Bool

    /// Whether the certificate authorities of the system are trusted.
    package let trustsSystem: Bool

    /// Further trusted certificates, as DER.
    package let anchors: [Data]

    /// The name that the certificate must have instead of the URL's host.
    package let serverName: String?

    private let pins: [TLSConfiguration.Pin]
    private let serverCheck: (@Sendable (String, [TLSConfiguration.Certificate]) throws -> Void)?

    /// Reads the files of `configuration`, and checks it.
    ///
    /// - Throws: `RequestError` with `invalidTLSConfiguration` for an invalid setting, and for one that a session
    ///   cannot apply.
    package init(_ configuration: TLSConfiguration) throws(RequestError) {
        if configuration.identity != nil {
            throw Self.invalid(
                "a session takes no key as PEM or DER; respond to the ClientCertificate challenge in the challenge "
                    + "handler with a SecIdentity of the keychain")
        }
        guard configuration.applicationProtocols == TLSConfiguration().applicationProtocols else {
            throw Self.invalid("a session selects the application protocols itself; leave applicationProtocols unset")
        }
        var trustsSystem = false
        var anchors: [Data] = []
        for source in configuration.trust.sources {
            switch source {
            case .system(readsEnvironment: false): trustsSystem = true
            case .system(readsEnvironment: true):
                throw Self.invalid("a session does not read SSL_CERT_FILE and SSL_CERT_DIR; use Trust.system")
            case .bytes(let bytes): anchors += try Self.certificates(in: bytes, "the trusted certificates")
            case .file(let path):
                anchors += try Self.certificates(in: Self.content(of: path), "the file \(ErrorText.quoted(path))")
            }
        }
        if let name = configuration.serverName, CertificateName(name) == nil {
            throw Self.invalid("invalid server name \(ErrorText.quoted(name, limit: 100)); use a DNS name in ASCII")
        }
        if let problem = configuration.pins.problem(withServerName: configuration.serverName) {
            throw Self.invalid(problem)
        }
        isVerifying = configuration.trust.isVerifying
        self.trustsSystem = trustsSystem
        self.anchors = anchors
        serverName = configuration.serverName
        pins = configuration.pins
        serverCheck = configuration.serverCheck
    }

    /// Whether the system alone decides about servers, as it does without a configuration.
    package var leavesServersToSystem: Bool {
        isVerifying && trustsSystem && anchors.isEmpty && serverName == nil && pins.isEmpty && serverCheck == nil
    }

    /// Returns the error for a configuration that cannot be applied.
    static func invalid(_ detail: String) -> RequestError {
        RequestError(.invalidRequest(.invalidTLSConfiguration), detail: detail)
    }
}

// MARK: Decisions

extension SessionTLS {
    /// The system's evaluation of a server.
    package enum Evaluation: Sendable {
        /// The chain and the name are verified.
        case trusted
        /// They are not verified; Security.framework returned this status and text.
        case failed(status: Int, text: String)
    }

    /// Decides about a server.
    ///
    /// Pins are compared after verification, and the check of the app comes last.
    ///
    /// - Parameters:
    ///   - evaluation: The system's result, with the anchors and the name of this value.
    ///   - host: The host of the URL.
    ///   - chain: The certificates as DER, the server's first: the verified chain, or what the server sent.
    /// - Returns: The reason to refuse the server; nil to accept it.
    package func refusal(_ evaluation: Evaluation, of host: String, chain: [Data]) -> RequestError? {
        let name = serverName ?? host
        let readers = chain.map { CertificateReader($0) }
        if isVerifying, case .failed(let status, let text) = evaluation {
            return Self.refusal(Self.problem(of: status), text, readers)
        }
        let applicable = pins.pins(for: name)
        // Without verification, any peer can send the pinned certificate after its own, so only the first one counts.
        let counted = isVerifying ? readers[...] : readers.prefix(1)
        if !applicable.isEmpty, !counted.contains(where: { $0.map { Self.matches($0, applicable) } ?? false }) {
            let found = readers.first.flatMap { $0?.publicKeyFingerprint }.map { "; its key is \($0)" } ?? ""
            return Self.refusal(
                .notPinned, "the certificate of \(ErrorText.quoted(name)) matches no pin\(found)", readers)
        }
        do {
            try serverCheck?(name, readers.compactMap { $0?.summary })
            return nil
        } catch {
            let detail =
                "the app refused the certificate of \(ErrorText.quoted(name)): "
                + ErrorText.quoted("\(error)", limit: 200)
            return Self.refusal(.refusedByCheck, detail, readers)
        }
    }

    private static func matches(_ certificate: CertificateReader, _ pins: [TLSConfiguration.Pin]) -> Bool {
        pins.contains { pin in
            certificate.publicKeyFingerprint.map(pin.publicKeys.contains) ?? false
                || certificate.fingerprint.map(pin.certificates.contains) ?? false
        }
    }

    private static func refusal(
        _ problem: RequestError.CertificateProblem, _ detail: String, _ chain: [CertificateReader?]
    ) -> RequestError {
        let certificates = chain.prefix(10).compactMap { $0?.summary }
        return RequestError(.certificateRefused(problem), detail: detail)
            .adding(tls: TLSConfiguration.Negotiation(version: "", certificates: certificates))
            .permanent().beforeSending()
    }

    /// Returns the problem for a status of Security.framework (SecBase.h).
    private static func problem(of status: Int) -> RequestError.CertificateProblem {
        switch status {
        case -67818: .expired  // errSecCertificateExpired
        case -67819: .notYetValid  // errSecCertificateNotValidYet
        case -67602: .nameMismatch  // errSecHostNameMismatch
        case -67843, -25318: .unknownIssuer  // errSecNotTrusted, errSecCreateChainFailed
        default: .other
        }
    }
}

// MARK: Settings

extension SessionTLS {
    private static func content(of path: String) throws(RequestError) -> Data {
        do {
            return try Data(contentsOf: URL(filePath: path))
        } catch {
            throw invalid("could not read the file with the trusted certificates: \(ErrorText.quoted(path))")
        }
    }

    /// Returns the certificates in `bytes`, at least one: PEM with text around it, or concatenated DER.
    private static func certificates(in bytes: Data, _ name: String) throws(RequestError) -> [Data] {
        let isPEM = bytes.firstRange(of: Data("-----BEGIN ".utf8)) != nil
        guard let certificates = isPEM ? certificatesOfPEM(bytes) : certificatesOfDER(bytes),
            certificates.allSatisfy({ CertificateReader($0) != nil })
        else { throw invalid("\(name): a certificate is invalid; use PEM or DER") }
        guard !certificates.isEmpty else { throw invalid("\(name): no certificate found; use PEM or DER") }
        return certificates
    }

    /// Returns the content of the certificate blocks (RFC 7468 §5); nil if one is not base64 or does not end.
    private static func certificatesOfPEM(_ bytes: Data) -> [Data]? {
        let begin = Data("-----BEGIN CERTIFICATE-----".utf8), end = Data("-----END CERTIFICATE-----".utf8)
        var found: [Data] = []
        var remaining = bytes
        while let start = remaining.firstRange(of: begin) {
            remaining = remaining[start.upperBound...]
            guard let stop = remaining.firstRange(of: end) else { return nil }
            let lines = remaining[..<stop.lowerBound].filter { ![0x09, 0x0A, 0x0D, 0x20].contains($0) }
            guard let der = Data(base64Encoded: Data(lines)) else { return nil }
            found.append(der)
            remaining = remaining[stop.upperBound...]
        }
        return found
    }

    private static func certificatesOfDER(_ bytes: Data) -> [Data]? {
        var reader = DERReader(Array(bytes)[...])
        var found: [Data] = []
        while let value = reader.next() { found.append(Data(value.encoded)) }
        return reader.remaining.isEmpty ? found : nil
    }
}

/// The TLS settings of an executor, whose files are read when the first https request needs them.
final class SessionTLSSettings: Sendable {
    let minimumVersion: TLSConfiguration.Version
    private let configuration: TLSConfiguration
    private let state = Lock<SessionTLS?>(nil)

    init(_ configuration: TLSConfiguration) {
        self.configuration = configuration
        minimumVersion = configuration.minimumVersion
    }

    /// The settings; nil before ``load()`` has succeeded.
    var loaded: SessionTLS? { state.withLock { $0 } }

    /// Loads the settings unless that has been done; a failure is not remembered.
    func load() throws(RequestError) {
        try state.withLock { (state) throws(RequestError) in
            if state == nil { state = try SessionTLS(configuration) }
        }
    }
}
