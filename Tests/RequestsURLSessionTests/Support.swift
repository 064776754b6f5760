import RequestsConformance
import RequestsURLSession
import Testing

/// An API at the address of a test's server.
struct Place: RequestProviding {
    let baseURL: URL
}

extension TestServer {
    /// A request to a path of this server.
    func request(
        _ method: HTTPMethod = .get, _ path: String = "/", header: Header = .empty, body: RequestBody = .none,
        delivery: Delivery = .collected(limit: 64 << 20)
    ) throws -> PreparedRequest {
        let base = baseURL.absoluteString
        let target = try TargetURI((base.hasSuffix("/") ? String(base.dropLast()) : base) + path)
        return PreparedRequest(method: method, target: target, header: header, body: body, delivery: delivery)
    }
}

extension RequestExecutor {
    /// The error of a call that must fail.
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

/// Answers with the body it was sent.
let echo = MockExecutor { request in
    guard case .bytes(let data) = request.body else { return .ok() }
    return .data(data)
}

/// Runs `body` with the path of a folder that is there for its time only.
func withFolder(_ body: (_ path: String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "requests-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await body(folder)
}

/// What the tests know of where they run.
enum Support {
    /// Whether URLSession is Foundation's own over libcurl, some of whose ways only it has.
    static let isOnLinux = SessionFailure.Implementation.current == .curl
}
