import RequestsPOSIX
import RequestsSocket
import Synchronization
import Testing

extension ScriptedPeer {
    /// The authority in the peer's URL.
    var authority: String { address.description }

    /// Returns a request to the peer.
    func request(
        _ method: HTTPMethod = .get, _ path: String = "/", header: Header = .empty, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
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
    /// Executes `request`, and returns the error, or nil if it succeeds.
    func failure(of request: PreparedRequest) async -> RequestError? {
        do throws(RequestError) {
            _ = try await execute(request)
            return nil
        } catch {
            return error
        }
    }

    /// Returns an executor whose configuration `change` has changed.
    static func with(
        _ destination: Destination = .url, _ change: (inout Configuration) -> Void
    ) -> SocketExecutor {
        var configuration = Configuration()
        change(&configuration)
        return SocketExecutor(destination, configuration: configuration)
    }
}

extension Task {
    /// The error of the task, or nil if it succeeded.
    var failure: (any Error)? {
        get async {
            if case .failure(let error) = await result { error } else { nil }
        }
    }
}

/// Runs other tasks until `condition` is true, for at most 45 s, which is shorter than the limit of the suites.
func eventually(_ condition: () -> Bool, sourceLocation: SourceLocation = #_sourceLocation) async {
    let end = Deadline.after(.seconds(45))
    while !condition() {
        guard !end.hasPassed else {
            Issue.record("the condition is not true after 45 s", sourceLocation: sourceLocation)
            return
        }
        await Task.yield()
    }
}

let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
