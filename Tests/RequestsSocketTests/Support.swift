import RequestsPOSIX
import RequestsSocket
import Testing

extension ScriptedPeer {
    /// The authority of the peer's URL.
    var authority: String { address.description }

    /// A request to the peer.
    func request(
        _ method: HTTPMethod = .get, _ path: String = "/", header: Header = .empty, body: RequestBody = .none,
        delivery: Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        let target = try TargetURI("http://\(address.family == .unix ? "engine" : authority)\(path)")
        return PreparedRequest(method: method, target: target, header: header, body: body, delivery: delivery)
    }
}

extension PreparedRequest {
    func with(_ change: (inout PreparedRequest) -> Void) -> PreparedRequest {
        var copy = self
        change(&copy)
        return copy
    }
}

extension RawResponse {
    /// The collected body as text.
    var text: String? {
        if case .bytes(let data) = body { String(decoding: data, as: UTF8.self) } else { nil }
    }

    var stream: ResponseStream? {
        if case .stream(let stream) = body { stream } else { nil }
    }
}

extension SocketExecutor {
    /// The error of a call that must fail.
    func failure(of request: PreparedRequest) async -> RequestError? {
        do throws(RequestError) {
            _ = try await execute(request)
            return nil
        } catch {
            return error
        }
    }

    /// An executor whose configuration is changed.
    static func with(
        _ destination: Destination = .url, _ change: (inout Configuration) -> Void
    ) -> SocketExecutor {
        var configuration = Configuration()
        change(&configuration)
        return SocketExecutor(destination, configuration: configuration)
    }
}

/// Lets other tasks run until a condition holds; the suite's time limit is the end of patience.
func eventually(_ condition: () -> Bool) async {
    while !condition() { await Task.yield() }
}

let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
