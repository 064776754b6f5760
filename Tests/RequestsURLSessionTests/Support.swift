import RequestsConformance
import RequestsURLSession
import TestSupport
import Testing

/// The API of a test server.
struct ServerAPI: RequestProviding {
    let baseURL: URL
}

extension TestServer {
    /// Returns a request to a path of this server.
    func request(
        _ method: HTTPMethod = .get, _ path: String = "/", header: Header = .empty, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 64 << 20)
    ) throws -> PreparedRequest {
        let base = baseURL.absoluteString
        let target = try TargetURI((base.hasSuffix("/") ? String(base.dropLast()) : base) + path)
        return PreparedRequest(method: method, target: target, header: header, body: body, delivery: delivery)
    }
}

extension RequestExecutor {
    /// Executes `request`, and returns the error, or nil if it succeeds.
    func failure(of request: PreparedRequest) async -> RequestError? {
        do throws(RequestError) {
            _ = try await execute(request)
            return nil
        } catch {
            return error
        }
    }
}

extension RawResponse {
    /// The collected body.
    var data: Data? {
        if case .bytes(let data) = body { data } else { nil }
    }

    /// The collected body as text.
    var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }

    var stream: ResponseStream? {
        if case .stream(let stream) = body { stream } else { nil }
    }
}

/// An executor whose responses contain the body of the request.
let echo = MockExecutor { request in
    guard case .bytes(let data) = request.body else { return .ok() }
    return .data(data)
}

/// Runs `body` with the path of a temporary folder.
func withFolder(_ body: (_ path: String) async throws -> Void) async throws {
    let folder = TemporaryDirectory()
    try await body(folder.path)
}

/// The platform of the tests.
enum Support {
    /// Whether URLSession comes from swift-corelibs-foundation, which uses libcurl.
    static let isOnLinux = SessionFailure.Implementation.current == .curl
}
