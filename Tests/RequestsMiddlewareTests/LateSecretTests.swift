@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

/// Middleware adds a secret, the response repeats it, and middleware further out throws an error about the response.
@Suite("Secrets that are added behind middleware that fails", .timeLimit(.minutes(10)))
struct LateSecretTests {
    private let api = AnonymousRequestProvider("http://e.com")

    /// An executor that adds a secret, and whose responses repeat it.
    private func echo(_ status: HTTPStatus = 200, _ header: Header = .empty) -> any RequestExecutor {
        MockExecutor { _ in
            MockResponse(status: status, header: header, body: [.bytes(Data("you sent hunter22".utf8))])
        }.intercepting { request, next in
            var request = request
            request.header["X-Api-Key"] = "hunter22"
            return try await next.execute(request)
        }
    }

    private func expectHidden(_ error: RequestError?, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(error?.request?.header["X-Api-Key"] == "hunter22", sourceLocation: sourceLocation)
        let text = String(reflecting: error)
        let isHidden = text.contains("http://e.com/a") && !text.contains("hunter22")
        #expect(isHidden, "\(text)", sourceLocation: sourceLocation)
    }

    @Test("errors of decoding, also in a stream, and of a memory budget print no secret", .rows("R-74"))
    func bodies() async throws {
        let gzip: Header = [Field(name: .contentEncoding, value: "gzip")]
        let unknown: Header = [Field(name: .contentEncoding, value: "unknown")]
        var request = try api.get(.text, from: "/a").prepared()
        for executor in [echo(200, gzip).decodingContent(), echo(200, unknown).decodingContent()] {
            expectHidden(await failure { () async throws(RequestError) in try await executor.execute(request) })
        }
        request.delivery = .streamed
        let response = try await echo(200, gzip).decodingContent().execute(request)
        guard case .stream(let stream) = response.body else { throw RequestError(.other, detail: "no stream") }
        expectHidden(await failure { () async throws(RequestError) in try await stream.collect() })
        request.delivery = .collected(limit: 13)
        for executor in [echo().decodingContent(), echo().collecting(within: MemoryBudget(100))] {
            expectHidden(await failure { () async throws(RequestError) in try await executor.execute(request) })
        }
    }

    @Test("the error that a retry policy receives and the log of the call print no secret", .rows("R-74"))
    func retries() async throws {
        let errors = Lock<[RequestError]>([])
        let log = Lock("")
        let policy = RetryPolicy { failure in
            errors.withLock { $0.append(failure.error) }
            return nil
        }
        let executor = echo(503).retrying(policy)
            .intercepting { request, next in
                let response = try await next.execute(request)
                throw RequestError(.other, response: response.head, body: Data("you sent hunter22".utf8))
            }
            .observing(
                .calls,
                by: RequestLogging(requests: .everything, responses: .everything) { entry in
                    log.withLock { $0 += "\(entry)\n" }
                })
        _ = await failure { () async throws(RequestError) in try await executor.perform(api.get(.text, from: "/a")) }
        #expect(errors.withLock { $0.count } == 1)
        expectHidden(errors.withLock { $0.first })
        let text = log.withLock(\.self)
        #expect(text.contains("you sent") && !text.contains("hunter22"), "\(text)")
    }
}
