import CRequestsPOSIX
@_spi(Lock) package import Requests
import RequestsPOSIX

/// The state that connections with the same configuration share: the trusted certificates, the identity, and the
/// sessions that can be resumed.
///
/// Nothing is loaded before ``prepare()`` or the first connection. Loading the certificates of the system can take tens
/// of milliseconds and reads files, so call ``prepare()`` on a thread that may block.
package final class TLSContext: Sendable {
    let role: Role
    let library: TLSLibrary
    package let sessions: TLSSessionCache
    private let native = Lock<SharedPointer?>(nil)
    /// The current time in seconds since 1970.
    let now: @Sendable () -> Int

    enum Role: Sendable {
        case client(Client)
        case server(TLSServerConfiguration)
    }

    /// The settings of clients.
    ///
    /// It is an object, because each connection reads only some settings, and copying all of them would take longer.
    final class Client: Sendable {
        let configuration: TLSConfiguration
        let systemTrust: SystemTrust
        /// The bytes of the application protocols that are offered.
        let protocols: [[UInt8]]

        init(_ configuration: TLSConfiguration, _ systemTrust: SystemTrust) {
            self.configuration = configuration
            self.systemTrust = systemTrust
            protocols = configuration.applicationProtocols.map { Array($0.utf8) }
        }
    }

    /// The settings of clients; nil for a server.
    var client: Client? {
        if case .client(let client) = role { client } else { nil }
    }

    /// Creates the context of clients with `configuration`.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the connections.
    ///   - systemTrust: The places of the system's certificates.
    ///   - library: The library to use.
    ///   - maximumSessions: The maximum number of sessions to keep for resumption; 0 resumes none.
    ///   - now: The current time in seconds since 1970, which decides how long a session can be resumed.
    package init(
        client configuration: TLSConfiguration, systemTrust: SystemTrust = .standard, library: TLSLibrary = .shared,
        maximumSessions: Int = 256, now: @escaping @Sendable () -> Int = { time(nil) }
    ) {
        self.now = now
        role = .client(Client(configuration, systemTrust))
        self.library = library
        // A session without verification contains no verified certificate, so a resumed connection would have an
        // unknown peer.
        sessions = TLSSessionCache(limit: configuration.trust.isVerifying ? maximumSessions : 0)
    }

    package init(server configuration: TLSServerConfiguration, library: TLSLibrary = .shared) {
        role = .server(configuration)
        now = { 0 }
        self.library = library
        sessions = TLSSessionCache(limit: 0)
    }

    deinit {
        sessions.removeAll()
        guard let pointer = native.withLock({ $0 }), let loaded = try? library.functions() else { return }
        // Connections have their own reference to the SSL_CTX.
        loaded.release { $0.SSL_CTX_free(pointer.address) }
    }

    /// Loads the library, the trusted certificates and the identity, unless that has been done.
    ///
    /// A failure is not stored: a file that was missing may exist the next time.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/unavailable`` or ``TLSError/Problem/configuration``.
    package func prepare() throws(TLSError) {
        _ = try object()
    }

    /// Whether the configuration names the server, in place of the host.
    package var hasServerName: Bool { client?.configuration.serverName != nil }

    /// Returns the name that the certificate of `host` must have: the configured name, otherwise the host itself.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/configuration`` if it cannot be the name of a certificate.
    package func serverName(for host: String) throws(TLSError) -> TLSServerName {
        try TLSServerName(client?.configuration.serverName ?? host)
    }

    /// Returns the pins for `host`; empty if there are none, and for a server.
    func pins(for host: String) -> [TLSConfiguration.Pin] {
        client?.configuration.pins.pins(for: host) ?? []
    }

    var isVerifying: Bool { client?.configuration.trust.isVerifying ?? true }

    /// Returns the SSL_CTX, and creates it the first time.
    func object() throws(TLSError) -> SharedPointer {
        let loaded = try library.functions()
        try loaded.enter()
        defer { loaded.leave() }
        let result = native.withLock { native -> Result<SharedPointer, TLSError> in
            if let native { return .success(native) }
            let result = Result { () throws(TLSError) in try make(loaded) }
            native = try? result.get()
            return result
        }
        return try result.get()
    }

    private func make(_ loaded: LoadedTLS) throws(TLSError) -> SharedPointer {
        let tls = loaded.tls.pointee
        let method =
            switch role {
            case .client: tls.TLS_client_method()
            case .server: tls.TLS_server_method()
            }
        guard let object = tls.SSL_CTX_new(method) else {
            throw TLSError(.unavailable, "could not create a TLS context: \(loaded.takeErrors())")
        }
        do throws(TLSError) {
            try configure(ContextBuilder(loaded: loaded, object: object))
        } catch {
            tls.SSL_CTX_free(object)
            throw error
        }
        return SharedPointer(address: object)
    }

    private func configure(_ builder: ContextBuilder) throws(TLSError) {
        builder.setCommonOptions()
        // The context outlives its connections, whose callbacks alone use this reference.
        builder.setVerification(Unmanaged.passUnretained(self).toOpaque())
        switch role {
        case .client(let client):
            let configuration = client.configuration
            builder.setMinimum(configuration.minimumVersion)
            if let problem = configuration.pins.problem(withServerName: configuration.serverName) {
                throw TLSError(.configuration, problem)
            }
            try builder.setProtocols(configuration.applicationProtocols)
            if configuration.trust.isVerifying { try builder.trust(configuration.trust, client.systemTrust) }
            if let identity = configuration.identity {
                try builder.use(identity)
                builder.offerLaterAuthentication()
            }
            if sessions.limit > 0 { builder.keepSessions() }
        case .server(let configuration):
            try builder.apply(configuration, Unmanaged.passUnretained(self).toOpaque())
        }
    }
}
