import Dispatch
@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import RequestsTLS
import RequestsTestServer
import TestSupport
import Testing

/// What the tests of https share.
enum Secured {
    static let isAvailable = TestTLS.isAvailable && TestServer.supportsTLS
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
    static func loadedExecutor(
        _ change: (inout SocketExecutor.Configuration) -> Void = { _ in }
    ) async throws -> SocketExecutor {
        let executor = try executor(change)
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
    /// Returns this request without time limits: on a busy machine a test can wait for a thread for longer than the
    /// defaults.
    func patient() -> PreparedRequest {
        with {
            $0.timeouts.connect = nil
            $0.timeouts.firstByte = nil
            $0.timeouts.betweenBytes = nil
        }
    }
}

/// A way in which the tests make calls.
enum SecuredCall: CaseIterable {
    case awaited, blocking, callback

    /// Executes `request` with a collected body.
    func response(to request: PreparedRequest, over executor: SocketExecutor) async throws -> RawResponse {
        switch self {
        case .awaited: return try await executor.execute(request)
        case .blocking:
            return try await onThread { Result { () throws(RequestError) in try executor.executeAndWait(request) } }
                .get()
        case .callback:
            let result = Lock<Result<RawResponse, RequestError>?>(nil)
            // The result is read under its lock, whose order the thread sanitizer sees.
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                executor.execute(request, on: .global()) { outcome in
                    result.withLock { $0 = outcome }
                    continuation.resume()
                }
            }
            return try #require(result.withLock { $0 }).get()
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
