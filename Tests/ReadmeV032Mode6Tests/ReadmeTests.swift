import RequestsURLSession
import TestSupport
import Testing

/// Returns the same response to every request.
private struct FixedResponse: RequestExecutor {
    let body: [UInt8]

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        RawResponse(head: ResponseHead(status: 200, target: request.target), body: .bytes(Data(body)))
    }
}

/// Responds to the requests of the app in the process, so that no host is contacted.
private final class Server: URLProtocol {
    override static func canInit(with request: URLRequest) -> Bool { true }

    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        guard let url = request.url,
            let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: Data(#"{"id":7}"#.utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() {}
}

@Suite("The README of Requests 0.3.2 in language mode 6")
struct ReadmeTests {
    let api = ExampleAPI.development
    let user = User()

    @Test("a GET request keeps the trailing slash of its path", .rows("RQ-8", "RQ-9", "RQ-36"))
    func get() throws {
        let getUserRequest = api.get(.json(encoded: User.self), from: "/user/1/")
        let request = try getUserRequest.toURLRequest()
        #expect(request.url?.absoluteString == "https://dev.example.com/api/user/1/")
        #expect(request.httpMethod == "GET")
        #expect(request.httpBody == nil)
        let live = try ExampleAPI.production.get(.text, from: "/user/1").toURLRequest()
        #expect(live.url?.absoluteString == "https://live.example.com/api/user/1")
    }

    @Test("a POST request contains its value as JSON, and its content type", .rows("RQ-8", "RQ-23"))
    func post() throws {
        let createUserRequest = api.post(.json(encoded: user), to: "/user/")
        let request = try createUserRequest.toURLRequest()
        #expect(request.url?.absoluteString == "https://dev.example.com/api/user/")
        #expect(request.httpMethod == "POST")
        #expect(request.httpBody == Data(#"{"id":1}"#.utf8))
        #expect(request.allHTTPHeaderFields == ["Content-Type": "application/json"])
    }

    @Test("a bearer token is added", .rows("RQ-15", "RQ-24"))
    func authenticated() throws {
        let authToken = "DEADBEEF-DEADBEEF-DEADBEEF"
        let updateUserRequest = api.patch("/user/1", with: .json(encoded: user))
            .authenticated(with: .bearerToken(authToken))
        let request = try updateUserRequest.toURLRequest()
        #expect(request.httpMethod == "PATCH")
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer \(authToken)")
    }

    @Test(
        "the calls of URLSession.perform complete as written", .rows("RQ-28", "RQ-32", "C31"), .timeLimit(.minutes(10)))
    func calls() async {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Server.self]
        let (results, continuation) = AsyncStream.makeStream(of: String.self)
        App(session: URLSession(configuration: configuration)).calls { continuation.yield($0) }
        var outcomes: Set<String> = []
        for await outcome in results {
            outcomes.insert(outcome)
            if outcomes.count == 3 { break }
        }
        #expect(outcomes == ["200 user 7", "created", "updated"])
    }

    @Test("a header is replaced as a whole", .rows("RQ-13"))
    func header() throws {
        let getBioRequest = api.get(.text, from: "/user/1/bio")
            .with(header: [
                .acceptLanguage("en-scouse"),
                .accept(.plainText),
            ])
        let request = try getBioRequest.toURLRequest()
        #expect(
            request.allHTTPHeaderFields == [
                "Accept-Language": "en-scouse", "Accept": "text/plain; charset=utf-8",
            ])
    }

    @Test("query items keep their order", .rows("RQ-14", "RQ-34", "T-10"))
    func query() throws {
        let searchRequest = api.get(.text, from: "/users/search")
            .with(query: [
                "query": "alex",
                "limit": "30",
            ])
        let url = try searchRequest.toURLRequest().url
        #expect(url?.absoluteString == "https://dev.example.com/api/users/search?query=alex&limit=30")
    }

    @Test("a field that a provider adds to its base request is sent with every method", .rows("RQ-10", "T-19"))
    func baseRequest() throws {
        let api = ExternalAPI()
        let body = BodyProvider.text("x")
        let requests = [
            api.post(body, to: "/a"), api.put(body, to: "/a"), api.patch("/a", with: body), api.delete("/a"),
            api.head("/a"), api.get(.none, from: "/a"),
        ]
        for request in requests {
            let fields = try request.toURLRequest().allHTTPHeaderFields
            #expect(fields?["X-APPLICATION-KEY"] == "DEAD-BEEF", "\(request)")
        }
    }

    @Test("a text decoder of the app decodes, and its error names the encoding", .rows("RQ-25", "RQ-26", "T-14"))
    func textDecoder() async throws {
        let getBookRequest = api.get(.text(encoding: .ascii), from: "/book/1/contents")
        let text = try await FixedResponse(body: [0x61]).perform(getBookRequest)
        #expect(text == "a")
        let error = await #expect(throws: RequestError.self) {
            try await FixedResponse(body: [0xC3, 0xA9]).perform(getBookRequest)
        }
        let cause = try #require(error?.underlying as? CocoaError)
        #expect(cause.code == .fileReadInapplicableStringEncoding)
        #expect(cause.userInfo[NSStringEncodingErrorKey] as? UInt == String.Encoding.ascii.rawValue)
        let getOtherBookRequest = api.get(.text, from: "/book/2/contents")
        #expect(try await FixedResponse(body: [0xC3, 0xA9]).perform(getOtherBookRequest) == "é")
    }

    @Test("providers of the app set the credentials and the body", .rows("RQ-18", "RQ-23", "RQ-24", "RQ-26"))
    func ownProviders() throws {
        let request = try api.post(.text("é"), to: "/notes").authenticated(with: .custom("t")).toURLRequest()
        #expect(request.httpBody == Data([0xC3, 0xA9]))
        #expect(
            request.allHTTPHeaderFields == [
                "Content-Type": "text/plain; charset=utf-8", "Authorization": "Custom t",
            ])
    }

    @Test("a request can be a type that contains its resource", .rows("RQ-2", "RQ-3", "RQ-35"))
    func typePerRequest() async throws {
        let request = try GetBook(identifier: 7).toURLRequest()
        #expect(request.url?.absoluteString == "https://dev.example.com/api/book/7")
        #expect(request.httpMethod == "GET")
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer DEADBEEF")
        let book = try await FixedResponse(body: Array(#"{"title":"T"}"#.utf8)).perform(GetBook(identifier: 7))
        #expect(book == GetBook.Resource(title: "T"))
        #expect(try DeleteBook(identifier: 7).toURLRequest().httpMethod == "DELETE")
        try await FixedResponse(body: []).perform(DeleteBook(identifier: 7))
    }

    @Test(
        "a request type with the property types of 0.3.2 keeps its endpoint, query and timeout", .rows("RQ-2", "RQ-35"))
    func oldPropertyTypes() async throws {
        let request = try SearchBooks(text: "a b").toURLRequest()
        #expect(request.url?.absoluteString == "https://dev.example.com/api/books/search?query=a%20b")
        #expect(request.timeoutInterval == 15)
        #expect(request.allHTTPHeaderFields == ["Accept": "text/plain; charset=utf-8"])
        #expect(try await FixedResponse(body: [0x61]).perform(SearchBooks(text: "")) == "a")
    }
}
