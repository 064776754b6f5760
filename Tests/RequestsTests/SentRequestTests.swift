@_spi(Lock) import Requests
import RequestsMock
import TestSupport
import Testing

/// An executor of a user, which does not name the request in its responses and errors.
private struct OwnExecutor: RequestExecutor {
    var fails = false
    var streams = false

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        if fails { throw RequestError(.connectionLost) }
        let data = Data("own".utf8)
        return RawResponse(
            head: ResponseHead(status: 200, target: request.target),
            body: streams ? .stream(ResponseStream(data)) : .bytes(data))
    }
}

extension RequestExecutor {
    /// This executor with middleware that adds a field.
    fileprivate func adding(_ name: Field.Name) -> any RequestExecutor {
        intercepting { request, next in
            var request = request
            request.header[name] = "1"
            return try await next.execute(request)
        }
    }

    /// This executor with middleware that returns a new response with the body of the other one.
    fileprivate func rebuilding() -> any RequestExecutor {
        intercepting { request, next in
            let response = try await next.execute(request)
            return RawResponse(head: response.head, body: response.body)
        }
    }
}

@Suite("The request as it was sent", .timeLimit(.minutes(10)))
struct SentRequestTests {
    private let api: AnonymousRequestProvider

    init() throws {
        api = AnonymousRequestProvider(baseURL: try #require(URL(string: "https://e.com")))
    }

    @Test("the chain names the request for an executor that does not, and so does a call without middleware")
    func ownExecutors() async throws {
        let request = api.get(.text, from: "/a")
        #expect(try await OwnExecutor().response(for: request).request?.target.path == "/a")
        let chain = OwnExecutor().adding("X-Inner").adding("X-Outer")
        let sent = try await chain.response(for: request).request
        #expect(sent?.header["X-Inner"] == "1" && sent?.header["X-Outer"] == "1")
        let raw = try await chain.execute(request.prepared())
        #expect(raw.request?.header["X-Inner"] == "1")
        let error = await #expect(throws: RequestError.self) {
            try await OwnExecutor(fails: true).adding("X-Inner").adding("X-Outer").perform(request)
        }
        #expect(error?.request?.header["X-Inner"] == "1" && error?.request?.header["X-Outer"] == "1")
    }

    @Test("middleware that returns a new response does not lose the request, in any place of the chain")
    func newResponses() async throws {
        for executor in [
            OwnExecutor().rebuilding().adding("X-Late"), OwnExecutor().adding("X-Late").rebuilding(),
            MockExecutor(.ok()).adding("X-Late").rebuilding().adding("X-Outer").rebuilding(),
        ] {
            let response = try await executor.response(for: api.get(.text, from: "/a"))
            #expect(response.request?.header["X-Late"] == "1")
            let waiting = try waited(executor)
            #expect(waiting.request?.header["X-Late"] == "1")
        }
    }

    /// The response of a blocking call.
    private func waited(_ executor: any RequestExecutor) throws -> TypedResponse<String> {
        try executor.responseAndWait(for: api.get(.text, from: "/a"))
    }

    @Test("a response of middleware that sends nothing has no request")
    func nothingSent() async throws {
        let executor = OwnExecutor().intercepting { request, _ in
            RawResponse(head: ResponseHead(status: 200, target: request.target), body: .bytes(Data()))
        }
        #expect(try await executor.adding("X-Outer").response(for: api.get(.text, from: "/a")).request == nil)
    }

    @Test("an error that middleware throws about a response names the request as sent, and prints none of its secrets")
    func ownErrors() async throws {
        struct Refusal: Error, CustomStringConvertible {
            let description: String
        }
        let text = "you sent hunter22"
        let echo = MockExecutor(.ok(text)).intercepting { request, next in
            var request = request
            request.header["X-Api-Key"] = "hunter22"
            return try await next.execute(request)
        }
        let chains = [
            echo.intercepting { request, next in
                let response = try await next.execute(request)
                throw RequestError(.other, response: response.head, body: Data(text.utf8))
            },
            echo.intercepting { request, next in
                _ = try await next.execute(request)
                throw Refusal(description: text)
            },
        ]
        let receiving = echo.intercepting { request, next in
            let response = try await next.execute(request)
            throw RequestError(.other, request: request, response: response.head, body: Data(text.utf8))
        }
        let error = await #expect(throws: RequestError.self) {
            try await receiving.adding("X-Outer").perform(api.get(.text, from: "/a"))
        }
        #expect(error?.request?.header.contains("X-Api-Key") == false)
        let printed = String(reflecting: error)
        #expect(printed.contains("you sent") && !printed.contains("hunter22"), "\(printed)")
        for executor in chains {
            let error = await #expect(throws: RequestError.self) {
                try await executor.adding("X-Outer").perform(api.get(.text, from: "/a"))
            }
            let sent = try #require(error?.request)
            #expect(sent.header["X-Api-Key"] == "hunter22" && sent.header["X-Outer"] == "1")
            let printed = String(reflecting: error)
            #expect(printed.contains("you sent") && !printed.contains("hunter22"), "\(printed)")
        }
    }

    @Test("neither the request in middleware nor the one in an error is marked as part of its call")
    func outsideOfCalls() async throws {
        let kept = Lock<[PreparedRequest]>([])
        let executor = MockExecutor(.status(404)).intercepting { request, next in
            kept.withLock { $0.append(request) }
            return try await next.execute(request)
        }
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(api.get(.text, from: "/a"))
        }
        #expect(kept.withLock { $0.map(\.isPartOfCall) } == [false])
        #expect(error?.request?.isPartOfCall == false)
    }

    @Test("a request is a value: a change of a copy changes no other, and a call changes none")
    func values() async throws {
        let request = try api.get(.text, from: "/a").prepared()
        var copy = request
        copy.header["X-Copy"] = "1"
        #expect(!request.header.contains("X-Copy") && request != copy)
        _ = try await MockExecutor(.ok()).execute(request)
        _ = try? await MockExecutor(.status(500)).perform(api.get(.text, from: "/a"))
        #expect(try request == api.get(.text, from: "/a").prepared() && !request.isPartOfCall)
    }

    /// Returns a request with a body of 100 MB, and a function that returns whether the body has been freed.
    private func upload<Resource>(
        receiving decoder: ResponseDecoder<Resource>
    ) -> (Request<AnonymousRequestProvider, Resource>, isFreed: @Sendable () -> Bool) {
        let count = 100_000_000
        let freed = FreedFlag()
        let data = Data(
            bytesNoCopy: UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 16), count: count,
            deallocator: .custom { pointer, _ in
                pointer.deallocate()
                freed.value.withLock { $0 = true }
            })
        let request = api.post(.raw(data: data, contentType: .binary), to: "/a", receiving: decoder)
        return (request, { freed.value.withLock { $0 } })
    }

    private final class FreedFlag: Sendable {
        let value = Lock(false)
    }

    @Test("a kept response does not keep its upload in memory")
    func uploads() async throws {
        func perform() async throws -> (TypedResponse<String>, isFreed: @Sendable () -> Bool) {
            let (request, isFreed) = upload(receiving: .text)
            return (try await OwnExecutor().adding("X-Late").response(for: request), isFreed)
        }
        let (response, isFreed) = try await perform()
        #expect(isFreed())
        #expect(response.request?.method == .post && response.request?.header["X-Late"] == "1")
    }

    @Test("a stream keeps its upload in memory for its errors, until it is released")
    func uploadsOfStreams() async throws {
        func perform() async throws -> (ResponseStream.Chunks, isFreed: @Sendable () -> Bool) {
            let (request, isFreed) = upload(receiving: .chunks)
            return (try await OwnExecutor(streams: true).adding("X-Late").perform(request), isFreed)
        }
        func read() async throws -> (@Sendable () -> Bool) {
            let (chunks, isFreed) = try await perform()
            for try await chunk in chunks { #expect(chunk == Data("own".utf8)) }
            withExtendedLifetime(chunks) { #expect(!isFreed()) }
            return isFreed
        }
        #expect(try await read()())
    }

    @Test("descriptions of a request's head contain no secrets")
    func descriptions() async throws {
        let executor = MockExecutor(.ok()).intercepting { request, next in
            var request = request
            request.header[.authorization] = "Bearer hunter22"
            request.header["X-Own"] = "hunter33"
            request.redirectPolicy.sensitiveFields.insert("X-Own")
            return try await next.execute(request)
        }
        let response = try await executor.response(
            for: api.get(.text, from: "/a").adding(queryItem: ("token", "hunter44")))
        let head = try #require(response.request)
        #expect(head.header[.authorization] == "Bearer hunter22")
        var dumped = ""
        dump(head, to: &dumped)
        for text in ["\(head)", String(reflecting: head), dumped] {
            #expect(text.contains("/a") && text.contains("Authorization"))
            for secret in ["hunter22", "hunter33", "hunter44"] { #expect(!text.contains(secret), "\(text)") }
        }
    }
}
