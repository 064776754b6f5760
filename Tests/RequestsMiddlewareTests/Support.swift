@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import RequestsURLSession
import Testing

/// A server of one representation, whole or in ranges, that closes connections after given numbers of bytes.
final class RangeServer: Sendable {
    struct State: Sendable {
        var content: Data
        var header: Header
        /// For each of the next responses, the number of body bytes after which it is cut.
        var cuts: [Int] = []
        /// The maximum number of bytes in a response to a range request.
        var partLimit = Int.max
        /// A function that changes a response before it is sent.
        var change: (@Sendable (inout MockResponse) -> Void)?
    }

    private let state: Lock<State>

    init(_ content: Data, header: Header = [Field(name: .etag, value: "\"v1\"")]) {
        state = Lock(State(content: content, header: header))
    }

    func set(_ change: @Sendable (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    /// An executor that responds as this server does.
    var executor: MockExecutor {
        MockExecutor { [self] request in
            state.withLock { state in
                let cut = state.cuts.isEmpty ? nil : state.cuts.removeFirst()
                var response = Self.response(to: request, state)
                state.change?(&response)
                if let cut, case .bytes(let body)? = response.body.first {
                    response.header.set(Field(name: .contentLength, value: "\(body.count)"))
                    response.body = [.bytes(body.prefix(cut)), .failure(RequestError(.connectionLost))]
                }
                return response
            }
        }
    }

    private static func response(to request: PreparedRequest, _ state: State) -> MockResponse {
        var response = MockResponse(header: state.header)
        response.header.add(Field(name: .contentType, value: "application/x-test"))
        let tag = state.header[.etag] ?? state.header[.lastModified]
        guard let range = request.header.byteRanges?.first, case .from(let first) = range,
            request.header[.ifRange] == tag
        else {
            response.body = [.bytes(state.content)]
            return response
        }
        guard first < state.content.count else {
            response.status = 416
            response.header.add(Field(name: .contentRange, value: "bytes */\(state.content.count)"))
            response.body = [.bytes(Data("no".utf8))]
            return response
        }
        let part = state.content.dropFirst(first).prefix(state.partLimit)
        response.status = 206
        response.header.add(
            Field(
                name: .contentRange,
                value: ContentRange(bytes: first...first + part.count - 1, length: state.content.count).fieldValue))
        response.body = [.bytes(Data(part))]
        return response
    }
}

/// The way in which a request reaches the server of a test.
enum Transport: String, CaseIterable, CustomTestStringConvertible {
    case memory, socket, urlSession

    var testDescription: String { rawValue }

    /// Runs `body` with a base URL and an executor to whose requests `served` responds.
    func run(
        serving served: MockExecutor, _ body: (AnonymousRequestProvider, any RequestExecutor) async throws -> Void
    ) async throws {
        switch self {
        case .memory: try await body(AnonymousRequestProvider("http://e.com"), served)
        case .socket:
            try await withTestServer(serving: served) { server in
                try await body(AnonymousRequestProvider(baseURL: server.baseURL), SocketExecutor())
            }
        case .urlSession:
            try await withTestServer(serving: served) { server in
                try await body(AnonymousRequestProvider(baseURL: server.baseURL), URLSessionExecutor())
            }
        }
    }
}

/// Returns `count` bytes that depend on their position.
func pattern(_ count: Int) -> Data {
    Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
}

extension Transport {
    /// An executor for a server on this machine.
    var executor: any RequestExecutor { self == .urlSession ? URLSessionExecutor() : SocketExecutor() }
}
