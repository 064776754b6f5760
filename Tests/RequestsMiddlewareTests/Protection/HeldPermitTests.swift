@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Testing

// A request that is sent again waits for a permit or a connection, which its earlier response must not have.
@Suite("Streamed responses before a request is sent again", .timeLimit(.minutes(10)))
struct HeldPermitTests {
    /// A streamed request; a call that waits for itself ends at its deadline.
    private func request() throws -> PreparedRequest {
        var request = PreparedRequest(target: try TargetURI("https://e.com/"), delivery: .streamed)
        request.deadline = .now + .seconds(60)
        return request
    }

    /// A body whose length is unknown, and which the tests do not read to its end.
    private static let longBody = [MockResponse.BodyEvent.chunks(count: 1_000) { _ in Data(count: 1_000) }]

    private func status(_ executor: some RequestExecutor) async throws -> HTTPStatus {
        try await executor.execute(request()).status
    }

    @Test("a rejected request is sent again with new credentials behind a limit of one request")
    func credentials() async throws {
        let mock = MockExecutor { request in
            guard request.header.contains(.authorization) else {
                let challenge = "Digest realm=\"r\", nonce=\"n\", qop=\"auth\", algorithm=SHA-256"
                return MockResponse(
                    status: 401, header: [Field(name: .wwwAuthenticate, value: challenge)], body: Self.longBody)
            }
            return .ok("ok")
        }
        let environment = try #require(RequestEnvironment(string: "https://e.com"))
        let executor = mock.limitingConcurrency(to: 1)
            .authenticating(with: DigestAuthenticator(username: "u", password: "p"), within: environment)
        #expect(try await status(executor) == 200 && mock.recordedCount == 2)
    }

    @Test("a request whose validation names another representation is sent again behind a limit of one request")
    func validation() async throws {
        let mock = MockExecutor { request in
            guard request.header.contains(.ifNoneMatch) else {
                let header: Header = [
                    Field(name: .cacheControl, value: "no-cache"), Field(name: .etag, value: "\"1\""),
                ]
                return MockResponse(header: header, body: [.bytes(Data("1".utf8))])
            }
            return MockResponse(status: 304, header: [Field(name: .etag, value: "\"2\"")])
        }
        let executor = mock.limitingConcurrency(to: 1).caching()
        for count in [1, 3] {
            let response = try await executor.execute(request())
            guard case .stream(let stream) = response.body else {
                Issue.record("no stream")
                return
            }
            #expect(try await stream.collect(limit: 10) == Data("1".utf8))
            #expect(response.status == 200 && mock.recordedCount == count)
        }
    }

    @Test("a failed response is repeated behind a limit of one request")
    func retries() async throws {
        let mock = MockExecutor { _ in MockResponse(status: 503, body: Self.longBody) }
        let executor = mock.limitingConcurrency(to: 1).retrying(clock: Retrying.Clock(sleep: { _ in }))
        #expect(try await status(executor) == 503 && mock.recordedCount > 1)
    }

    @Test("a slow response that fails does not wait for the second request, which waits for its permit")
    func hedging() async throws {
        let mock = MockExecutor { _ in
            // Until the second request waits; if it has not begun, there is nothing to wait for.
            for _ in 0..<1_000 { await Task.yield() }
            return MockResponse(status: 503, body: Self.longBody)
        }
        let executor = mock.limitingConcurrency(to: 1)
            .hedging(after: .milliseconds(1), clock: Retrying.Clock(sleep: { _ in }))
        let request = try request()
        #expect(try await executor.execute(request).status == 503)
        #expect(try #require(request.deadline) > .now && mock.recordedCount == 1)
    }

    /// A server whose responses have a body that ends when the test says so.
    private final class OpenBody: RequestExecutor, ResponseBody.Source {
        private let reader = Lock<CheckedContinuation<Data?, Never>?>(nil)

        var isBeingRead: Bool { reader.withLock { $0 != nil } }

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
            RawResponse(
                head: ResponseHead(status: 200, target: request.target), body: .stream(ResponseStream(self)))
        }

        func next() async throws(RequestError) -> Data? {
            if isBeingRead { throw RequestError(.other, detail: "concurrent reads") }
            return await withCheckedContinuation { reader in self.reader.withLock { $0 = reader } }
        }

        func end() { reader.withLock { $0.take() }?.resume(returning: nil) }

        var trailers: Header { .empty }
    }

    @Test("a second reader of a body fails, and the permit is used until the first one has ended")
    func twoReaders() async throws {
        let server = OpenBody()
        let executor = server.limitingConcurrency(to: 1)
        guard case .stream(let stream) = try await executor.execute(request()).body else {
            Issue.record("no stream")
            return
        }
        let reader = Task { try await stream.next() }
        while !server.isBeingRead { await Task.yield() }
        await #expect(throws: RequestError.self) { try await stream.next() }
        var request = try request()
        request.deadline = .now + .milliseconds(1)
        let error = await #expect(throws: RequestError.self) { try await executor.execute(request) }
        #expect(error?.reason == .timedOut(.total))
        server.end()
        #expect(try await reader.value == nil)
        #expect(try await status(executor) == 200)
    }
}
