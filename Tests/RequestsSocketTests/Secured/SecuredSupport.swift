import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import Testing

/// What the tests of https share.
enum Secured {
    static let isAvailable = TestServer.supportsTLS
    static let comment: Comment = "libssl is not installed: https over sockets is not tested"

    /// Returns the context of a server with a certificate for the loopback, which `change` may alter.
    static func server(
        names: [String] = ["localhost", "127.0.0.1", "::1"], _ change: (inout TLSServerConfiguration) -> Void = { _ in }
    ) throws -> TLSContext {
        var configuration = TLSServerConfiguration(identity: try TestCertificates.shared().identity(for: names))
        change(&configuration)
        let context = TLSContext(server: configuration)
        try context.prepare()
        return context
    }

    /// The trust in the authority of the servers.
    static var trust: TLSConfiguration.Trust { get throws { try TestCertificates.shared().trust } }

    /// Returns an executor that trusts the servers.
    static func executor(
        _ change: (inout SocketExecutor.Configuration) -> Void = { _ in }
    ) throws -> SocketExecutor {
        let trust = try trust
        return .with {
            $0.tls.trust = trust
            change(&$0)
        }
    }

    /// Returns an executor that has loaded its settings, so that a short limit covers only the handshake.
    static func loadedExecutor() async throws -> SocketExecutor {
        let executor = try executor()
        try await executor.reloadTLS(timeout: nil)
        return executor
    }
}

extension ScriptedPeer {
    /// Returns an https request to the peer.
    func securedRequest(
        _ method: HTTPMethod = .get, _ path: String = "/", host: String = "127.0.0.1", body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        let port = try #require(address.port)
        return PreparedRequest(
            method: method, target: try TargetURI("https://\(host):\(port)\(path)"), body: body, delivery: delivery
        ).patient()
    }
}

extension PreparedRequest {
    /// Returns this request without a connect limit: other tests can occupy the threads of the pool for longer than
    /// 10 s, the default.
    func patient() -> PreparedRequest { with { $0.timeouts.connect = nil } }
}

/// A way in which the tests make calls.
enum SecuredCall: CaseIterable {
    case awaited, blocking

    /// Executes `request` with a collected body.
    func response(to request: PreparedRequest, over executor: SocketExecutor) async throws -> RawResponse {
        switch self {
        case .awaited: try await executor.execute(request)
        case .blocking:
            try await onThread { Result { () throws(RequestError) in try executor.executeAndWait(request) } }.get()
        }
    }

    /// Executes `request`, and returns the error, or nil if the call succeeds.
    func failure(of request: PreparedRequest, over executor: SocketExecutor) async -> RequestError? {
        do {
            _ = try await response(to: request, over: executor)
            return nil
        } catch {
            return error as? RequestError
        }
    }
}
