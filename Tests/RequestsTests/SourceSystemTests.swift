import Requests
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

/// Features of other HTTP libraries, expressed with this library.
@Suite("Features of other libraries", .tags(.concurrent), .timeLimit(.minutes(10)))
struct SourceSystemTests {
    /// An API with defaults from its environment and others from its base request.
    private struct Shop: RequestProviding {
        var environment: RequestEnvironment
        var baseURL: URL { environment.baseURL }

        func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Shop, Void> {
            Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
                .timeout(after: .seconds(7)).assumingErrorsAreJSON().within(environment)
        }
    }

    @Test(
        "fields, credentials and options belong to the environment, and the API's settings apply to any target",
        .rows("PM-7"))
    func scopes() async throws {
        var environment = try #require(RequestEnvironment(string: "https://h/api/"))
        environment.joining = .resolve
        environment.header = [Field(name: "X-Env", value: "1")]
        environment.authenticationProvider = .bearerToken("t")
        environment.options = RequestOptions(priority: .low, requiresContentLength: true)
        for (path, isInside) in [("x", true), ("https://other/x", false)] {
            let request = Shop(environment: environment).get(.data, from: RequestPath(path))
            let prepared = try request.prepared()
            #expect(prepared.header["X-Env"] == (isInside ? "1" : nil))
            #expect(prepared.header[.authorization] == (isInside ? "Bearer t" : nil))
            #expect(prepared.options == (isInside ? environment.options : RequestOptions()))
            #expect(prepared.timeouts.firstByte == .seconds(7))
            let error = await #expect(throws: RequestError.self) {
                try await StubExecutor(500, header: [.contentType(.plainText)], "{\"a\":1}").perform(request)
            }
            #expect(error?.bodyJSON == ["a": 1])
        }
    }

    @Test("verbs send parameters, data and JSON to a path or a URL", .rows("PM-21"))
    func constructors() throws {
        let elsewhere = AnonymousRequestProvider(baseURL: URL("https://other.example/y"))
        for (api, endpoint, url) in [
            (api, "/x" as RequestPath, "https://e.com/api/x"), (elsewhere, .empty, "https://other.example/y"),
        ] {
            for method in [HTTPMethod.get, .delete] {
                let request = api.request(to: endpoint, using: method)
                #expect(try request.adding(parameters: ["a": [1, 2]]).preparedURL() == url + "?a=1&a=2")
                let items = [URLQueryItem(name: "b", value: nil), URLQueryItem(name: "c", value: "d e")]
                #expect(try request.adding(queryItems: QueryItems(items)).preparedURL() == url + "?b&c=d%20e")
            }
            for method in [HTTPMethod.post, .put, .patch] {
                let request = api.request(to: endpoint, using: method)
                let form = try request.adding(parameters: ["a": "b c"]).prepared()
                #expect(form.body.text == "a=b%20c" && form.target.absoluteString == url)
                #expect(form.header[.contentType] == "application/x-www-form-urlencoded")
                let data = try request.sending(.raw(data: Data("x".utf8))).prepared()
                #expect(data.body.text == "x" && data.header[.contentType] == "application/octet-stream")
                let json = try request.sending(.json(["a": 1])).prepared()
                #expect(json.body.text == "{\"a\":1}" && json.header[.contentType] == "application/json")
            }
        }
    }

    @Test(
        "unsafe methods bypass the cache, and an explicit cache policy is kept", .rows("PM-25"),
        arguments: [
            (HTTPMethod.get, PreparedRequest.CachePolicy.useProtocolCachePolicy), (.head, .useProtocolCachePolicy),
            (.post, .reloadIgnoringLocalCacheData), (.put, .reloadIgnoringLocalCacheData),
            (.patch, .reloadIgnoringLocalCacheData), (.delete, .reloadIgnoringLocalCacheData),
        ])
    func cachePolicy(method: HTTPMethod, policy: PreparedRequest.CachePolicy) throws {
        let request = api.request(to: "/x" as RequestPath, using: method)
        #expect(try request.prepared().cachePolicy == policy)
        #expect(
            try request.with(cachePolicy: .returnCacheDataDontLoad).prepared().cachePolicy == .returnCacheDataDontLoad)
        #expect(try request.timeout(after: .seconds(3)).prepared().timeouts.betweenBytes == .seconds(3))
    }

    @MainActor private final class Canvas {
        var isDrawable = true
        func draw() -> Data? { isDrawable ? Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) : nil }
    }

    @Test(
        "an image can be a deferred part, made when it is sent and omitted if it is unavailable", .rows("PM-52", "PF-7")
    )
    func pictures() async throws {
        let canvas = await MainActor.run { Canvas() }
        let picture = MultipartForm.Part.deferred {
            guard let data = await canvas.draw(), let image = ImageBytes(data) else { return [] }
            #expect(image.format == .png)
            return [.data(image.data, name: "picture", filename: "p.png", contentType: .png)]
        }
        let whole = try await api.post(.multipart([picture], boundary: "B"), to: "/x").prepared().body.collected()
        guard case .bytes(let bytes) = whole else { throw RequestError(.bodyEncodingFailed) }
        #expect(
            String(decoding: bytes, as: UTF8.self).contains("filename=\"p.png\"\r\nContent-Type: image/png\r\n\r\n"))
        await MainActor.run { canvas.isDrawable = false }
        let other = MultipartForm.Part.deferred { await canvas.draw().map { [.data($0, name: "picture")] } ?? [] }
        let empty = try await api.post(.multipart([other], boundary: "B"), to: "/x").prepared().body.collected()
        #expect(empty.text == "--B--\r\n")
    }

    @Test("text can be sent in another charset, and a form through a custom format", .rows("AF-1"))
    func charsets() throws {
        #expect(try api.post(.text("é", in: .latin1), to: "/x").prepared().body.bytes == Data([0xE9]))
        let latin = RequestParameters.Format.custom { parameters in
            try parameters.map { parameter in
                guard case .string(let text) = parameter.value.content else { throw RequestError(.bodyEncodingFailed) }
                let bytes = try BodyProvider.Charset.latin1.encode(text)
                return parameter.name + "="
                    + bytes.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
            }.joined(separator: "&")
        }
        #expect(try api.post(.form(parameters: ["a": "é"], format: latin), to: "/x").prepared().body.text == "a=%E9")
        let query = api.get(.data, from: "/x").adding(parameters: ["a": "é"], in: .query(latin))
        #expect(try query.prepared().target.query == "a=%E9")
    }

    @Test("copies of a form with a stream are read independently, each from the beginning", .rows("AF-39", "D-14"))
    func copies() async throws {
        let stream = RequestBody.stream(length: 2) {
            AsyncStream<Data> { continuation in
                for text in ["a", "b"] { continuation.yield(Data(text.utf8)) }
                continuation.finish()
            }
        }
        let form = BodyProvider.multipart([.text("x", name: "t"), .body(stream, name: "s")], boundary: "B")
        let request = try api.post(form, to: "/x").prepared()
        var copy = request
        copy.header.set(Field(name: "X", value: "y"))
        #expect(request.body.isReplayable && copy.body.isReplayable)
        var first = try request.body.makeSource()
        var second = try copy.body.makeSource()
        var texts = ["", ""]
        var isAtEnd = false
        while !isAtEnd {
            let chunks = [try await first.next(), try await second.next()]
            isAtEnd = chunks == [nil, nil]
            for index in texts.indices { texts[index] += String(decoding: chunks[index] ?? Data(), as: UTF8.self) }
        }
        #expect(texts[0] == texts[1] && texts[0].utf8.count == request.body.knownLength)
        #expect(texts[0].hasSuffix("\r\n\r\nab\r\n--B--\r\n"))
    }

    @Test("the method decides where parameters are sent, unless JSON is requested explicitly", .rows("HT-18"))
    func defaultEncoding() throws {
        let request = api.post(.none, to: "/x")
        #expect(try request.adding(parameters: ["a": 1]).prepared().body.text == "a=1")
        #expect(try request.adding(parameters: ["a": 1], in: .json).prepared().body.text == "{\"a\":1}")
    }

    @Test("the Alamofire format applies to queries and forms, and a GET rejects a JSON body", .rows("HT-19"))
    func alamofire() throws {
        let parameters: RequestParameters = ["b": true, "a": [1, 2], "c": ["e": nil, "d": "x/y?z"], "f": "~ +&"]
        let text = "a%5B%5D=1&a%5B%5D=2&b=1&c%5Bd%5D=x/y?z&c%5Be%5D&f=~%20%2B%26"
        let query = api.get(.data, from: "/x").adding(parameters: parameters, in: .query(.alamofire))
        #expect(try query.prepared().target.query == text)
        let form = api.post(.none, to: "/x").adding(parameters: parameters, in: .form(.alamofire))
        #expect(try form.prepared().body.text == text)
        #expect(try form.prepared().header[.contentType] == "application/x-www-form-urlencoded")
        expectInvalid(.bodyNotAllowed) {
            try api.get(.data, from: "/x").adding(parameters: ["a": 1], in: .json).prepared()
        }
    }

    @Test("middleware sees and can change a response before it is validated", .rows("HT-24", "C17"))
    func interceptors() async throws {
        let seen = Mutex<[HTTPStatus]>([])
        let failing = StubExecutor(503, header: [.contentType(.json)], "{\"message\":\"full\"}").intercepting {
            request, next in
            let response = try await next.execute(request)
            seen.withLock { $0.append(response.head.status) }
            return response
        }
        let error = await #expect(throws: RequestError.self) { try await failing.perform(api.get(.text, from: "/x")) }
        #expect(error?.status == 503 && error?.message?.text == "full" && seen.withLock { $0 } == [503])
        let mended = failing.intercepting { request, next in
            var response = try await next.execute(request)
            response.head.status = 200
            return response
        }
        #expect(try await mended.perform(api.get(.data, from: "/x")) == Data("{\"message\":\"full\"}".utf8))
    }

    @Test(
        "a transport is an executor with middleware, whose requests select their validation and time limits",
        .rows("HT-3", "HT-22")
    )
    func transport() throws {
        let steps = Mutex<[String]>([])
        func recording(_ name: String) -> FunctionMiddleware {
            FunctionMiddleware { request, next in
                steps.withLock { $0.append("\(name) request") }
                let response = try await next.execute(request)
                steps.withLock { $0.append("\(name) response") }
                return response
            }
        }
        let transport = StubExecutor(500, "x").intercepted(by: recording("second"))
            .intercepted(by: recording("first"))
        let request = api.get(.text, from: "/x").with(timeouts: Timeouts(total: .seconds(30)))
        #expect(try request.prepared().timeouts.total == .seconds(30))
        #expect(try transport.performAndWait(request.validating(.none)) == "x")
        #expect(
            steps.withLock { $0 } == ["first request", "second request", "second response", "first response"])
        // Performing the request again runs each middleware once, and the response is validated after them.
        let error = #expect(throws: RequestError.self) { try transport.performAndWait(request) }
        #expect(error?.reason == .unacceptableStatus)
        #expect(steps.withLock { $0.count } == 8)
    }

    @Test("a request whose URL is malformed is not executed, and the error names the base URL", .rows("HT-33", "PM-3"))
    func malformed() async throws {
        let calls = Mutex(0)
        let executor = StubExecutor { request in
            calls.withLock { $0 += 1 }
            return .stub(200, to: request)
        }
        for text in ["mailto:a", "nothing"] {
            let base = try #require(URL(string: text))
            let error = await #expect(throws: RequestError.self) {
                try await executor.perform(AnonymousRequestProvider(baseURL: base).get(.data, from: "/x"))
            }
            #expect(error?.reason == .invalidRequest(.malformedURL), "\(text)")
            #expect(error?.detail == "“\(text)”")
        }
        #expect(calls.withLock { $0 } == 0)
    }

    @Test("the result of an action has the response head and, if there is content, the JSON", .rows("C18"))
    func actions() async throws {
        let request = api.post(.none, to: "/x", receiving: .action(.json([String: Int].self)))
        let some = try await StubExecutor(201, header: [.contentType(.json)], "{\"a\":1}").perform(request)
        #expect(some.head.status == 201 && some.value == ["a": 1])
        let none = try await StubExecutor(204).perform(request)
        #expect(none.head.status == 204 && none.value == nil)
    }

    @Test("a form is produced while the caller blocks the main actor", .rows("D-13", "D-21"))
    @MainActor func blockedMainActor() throws {
        let folder = TemporaryDirectory()
        try folder.write("file".utf8, to: "file")
        let file = URL(filePath: folder.path(of: "file"))
        let parts: [MultipartForm.Part] = [
            .text("a", name: "t"), .file(at: file, name: "f"), .deferred { [.text("late", name: "d")] },
        ]
        let reading = FunctionMiddleware { request, next in
            var request = request
            request.body = try await request.body.collected()
            return try await next.execute(request)
        }
        let echo = StubExecutor { request in .stub(200, request.body.text ?? "", to: request) }
        let request = api.post(.multipart(parts, boundary: "B"), to: "/x", receiving: .text)
        let text = try echo.intercepted(by: reading).performAndWait(request)
        #expect(text.contains("\r\n\r\nfile\r\n") && text.contains("\r\n\r\nlate\r\n") && text.hasSuffix("--B--\r\n"))
    }
}
