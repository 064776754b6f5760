@_spi(Lock) import Requests
package import RequestsTLS

extension TestServer {
    /// The TLS settings of a test server; its certificates are created for it and never stored.
    ///
    /// ```swift
    /// try await withTestServer(serving: mock, tls: .init()) { server in
    ///     var configuration = SocketExecutor.Configuration()
    ///     configuration.tls = server.clientTLS
    ///     …
    /// }
    /// ```
    /// The system's OpenSSL is used; without it, the server cannot be started.
    public struct TLS: Sendable {
        /// The names and addresses in the server's certificate; by default the names and addresses of the loopback.
        public var names: [String]

        /// The certificates that may issue client certificates; nil requests none.
        public var clientTrust: TLSConfiguration.Trust?

        /// Whether clients without a certificate are refused, if ``clientTrust`` is set.
        public var requiresClientCertificate = false

        /// The oldest version of TLS that the server accepts.
        public var minimumVersion = TLSConfiguration.Version.tls12

        /// The newest version of TLS that the server accepts.
        public var maximumVersion = TLSConfiguration.Version.tls13

        /// The application protocols from which the server selects; an empty list selects none.
        ///
        /// For HTTP/2, `h2` is added in front, unless the list is empty or contains it.
        public var applicationProtocols = ["http/1.1"]

        package var resumesSessions = true

        /// The certificate and key of the server; nil makes them for ``names``.
        public var identity: TLSConfiguration.Identity?

        /// Creates settings for a server with `names`.
        public init(names: [String] = ["localhost", "127.0.0.1", "::1"]) {
            self.names = names
        }
    }

    /// Whether this system has the OpenSSL that a server with TLS needs.
    public static var supportsTLS: Bool { (try? TestCertificates.shared()) != nil && TLSLibrary.shared.version != nil }

    /// The settings of a client that trusts the authority which issues the certificates of test servers, and nothing
    /// else.
    ///
    /// The authority is made for the process.
    public var clientTLS: TLSConfiguration {
        TLSConfiguration(trust: state.security?.trust ?? .certificates(Data()))
    }
}

/// The authority that issues the certificates of test servers; each process creates it once.
package struct TestCertificates: Sendable {
    private let root: MadeCertificate
    private let key: CertificateKey

    private static let made = Lock<TestCertificates?>(nil)

    package static func shared() throws -> TestCertificates {
        // A failure is not stored, so the next call tries again.
        try made.withLock { made -> Result<TestCertificates, any Error> in
            let result = Result { try made ?? TestCertificates() }
            made = try? result.get()
            return result
        }.get()
    }

    private init() throws {
        root = try CertificateMaker.authority("Test server authority").make(CertificateKey(.p256))
        key = try CertificateKey(.p256)
    }

    package var trust: TLSConfiguration.Trust { .certificates(root.pem) }

    /// Returns a certificate for `names`, with its key.
    package func identity(for names: [String]) throws(TLSError) -> TLSConfiguration.Identity {
        var maker = CertificateMaker(names.first ?? "localhost")
        maker.names = names.map { name in IPAddressText.octets(name).map { .address($0) } ?? .dns(name) }
        return try maker.make(key, signedBy: root).identity()
    }
}

/// The TLS of a running server.
struct ServerSecurity: Sendable {
    let context: TLSContext
    let trust: TLSConfiguration.Trust

    /// Makes the certificates, and loads everything that connections need.
    init(_ settings: TestServer.TLS, using version: TestServer.Version) throws {
        let certificates = try TestCertificates.shared()
        var configuration = TLSServerConfiguration(
            identity: try settings.identity ?? certificates.identity(for: settings.names))
        configuration.clientTrust = settings.clientTrust
        configuration.requiresClientCertificate = settings.requiresClientCertificate
        configuration.applicationProtocols = version.applicationProtocols(with: settings.applicationProtocols)
        configuration.versions = Self.number(settings.minimumVersion)...Self.number(settings.maximumVersion)
        configuration.resumesSessions = settings.resumesSessions
        context = TLSContext(server: configuration)
        trust = certificates.trust
        try context.prepare()
    }

    private static func number(_ version: TLSConfiguration.Version) -> Int {
        switch version {
        case .tls12: 0x0303
        case .tls13: 0x0304
        @unknown default: 0x0304
        }
    }
}
