import RequestsFoundation
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider("https://e.com/api")

private struct ProviderFailure: Error, Equatable {}

/// A request type whose cache policy has the type of 0.3.2.
private struct CachedRequest: RequestConvertible {
    typealias Resource = Void
    var baseURL: URL { URL("https://e.com") }
    var endpoint: RequestPath { "/x" }
}

extension CachedRequest {
    fileprivate var cachePolicy: URLRequest.CachePolicy { .returnCacheDataDontLoad }
}

@Suite("toURLRequest()")
struct URLRequestTests {
    private func base(_ text: String) throws -> AnonymousRequestProvider {
        AnonymousRequestProvider(baseURL: try #require(URL(string: text)))
    }

    @Test("the defaults are GET, no fields, no body, 60 s and the protocol cache policy", .rows("RQ-3", "RQ-4", "AF-2"))
    func defaults() throws {
        let request = try api.get(.none, from: "/x").toURLRequest()
        #expect(request.httpMethod == "GET")
        #expect(request.allHTTPHeaderFields == [:])
        #expect(request.httpBody == nil && request.httpBodyStream == nil)
        #expect(request.timeoutInterval == 60)
        #expect(request.cachePolicy == .useProtocolCachePolicy)
    }

    @Test(
        "an empty endpoint results in the base URL, byte for byte", .rows("RQ-6", "T-8"),
        arguments: ["https://e.com/api", "https://e.com/api/", "https://e.com", "HTTPS://E.com/a?k=1#f"])
    func baseUnchanged(text: String) throws {
        #expect(try base(text).get(.none, from: "").toURLRequest().url?.absoluteString == text)
    }

    @Test("userinfo in the base URL is removed and sent as Basic credentials", .rows("R-8"))
    func userinfo() throws {
        let request = try base("https://user:password@e.com/a").get(.none, from: "").toURLRequest()
        #expect(request.url?.absoluteString == "https://e.com/a")
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Basic dXNlcjpwYXNzd29yZA==")
    }

    @Test("the body is set after the header, and authentication after both", .rows("RQ-4", "RQ-5", "T-5", "T-6"))
    func precedence() throws {
        let received = Mutex<[String?]>([])
        let request = try api.post(.json(["a": 1]), to: "/x")
            .with(header: [Field(name: "X", value: "1"), Field(name: .authorization, value: "Y")])
            .authenticated(
                with: AuthenticationProvider { header in
                    let type = header[.contentType]
                    received.withLock { $0.append(type) }
                    header[.authorization] = "Bearer Z"
                }
            ).toURLRequest()
        #expect(received.withLock { $0 } == ["application/json"])
        #expect(
            request.allHTTPHeaderFields == [
                "Content-Type": "application/json", "X": "1", "Authorization": "Bearer Z",
            ])
    }

    @Test("an error of a body provider is rethrown unchanged, and each call runs the provider", .rows("RQ-4", "T-7"))
    func providerError() throws {
        let calls = Mutex(0)
        let request = api.post(
            BodyProvider { header in
                calls.withLock { $0 += 1 }
                header.set(.contentType(.html))
                throw ProviderFailure()
            }, to: "/x")
        for _ in 1...2 { #expect(throws: ProviderFailure()) { try request.toURLRequest() } }
        #expect(calls.withLock { $0 } == 2)
        #expect(request.header.isEmpty)
    }

    @Test("a request without a body has no Content-Type", .rows("RQ-23", "T-4"))
    func noBody() throws {
        let request = try api.get(.none, from: "/x").with(header: [.contentType(.html)]).toURLRequest()
        #expect(request.allHTTPHeaderFields == [:])
    }

    @Test(
        "the error of an invalid URL contains its base URL and endpoint", .rows("RQ-4", "RQ-32", "HT-33"),
        arguments: [
            ("https://e.com", RequestPath("/a?b"), RequestError.InvalidRequest.queryInPath),
            ("https://e.com", RequestPath("/a#b"), .fragmentInPath),
            ("https://e.com", RequestPath("/a\u{0}b"), .controlCharacterInPath),
            ("https://e.com", RequestPath("/a/\("")/b"), .emptySegment),
            ("https://e.com", RequestPath("/a/\("..")"), .dotSegment),
            ("relative/path", RequestPath("/a"), .malformedURL),
            ("https:///nohost", RequestPath("/a"), .invalidHost),
        ])
    func invalidURL(baseText: String, endpoint: RequestPath, problem: RequestError.InvalidRequest) throws {
        let provider = try base(baseText)
        let error = #expect(throws: InvalidRequestURLError.self) {
            try provider.get(.none, from: endpoint).sending(
                BodyProvider { _ in
                    Issue.record("the body provider ran")
                    return .none
                }
            ).toURLRequest()
        }
        #expect(error?.problem == problem)
        #expect(error?.baseURL == provider.baseURL)
        #expect(error?.endpoint == endpoint)
        #expect(error?.localizedDescription.contains("\(problem)") == true)
    }

    @Test("an invalid field results in a RequestError", .rows("RQ-4", "R-1"))
    func invalidField() {
        let request = api.get(.none, from: "/x").adding(headerField: Field(name: "X", value: "a\r\nb"))
        let error = #expect(throws: RequestError.self) { try request.toURLRequest() }
        #expect(error?.reason == .invalidRequest(.invalidFieldValue))
    }

    @Test("the error contains no secret of the base URL", .rows("R-8"))
    func errorWithoutSecrets() throws {
        let provider = try base("https://u:hunter2@e.com/a?token=hunter2")
        let error = try #require(
            #expect(throws: InvalidRequestURLError.self) { try provider.get(.none, from: "/a?b").toURLRequest() })
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), error.localizedDescription, dumped] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test(
        "the timeout interval is the longer of the two limits", .rows("RQ-4"),
        arguments: [
            (Timeouts(firstByte: .seconds(5), betweenBytes: .seconds(7)), 7.0),
            (Timeouts(firstByte: .seconds(9), betweenBytes: .milliseconds(1)), 9),
            (Timeouts(firstByte: nil), 604_800), (Timeouts(betweenBytes: nil), 604_800),
            (Timeouts(firstByte: .zero, betweenBytes: .seconds(-1)), 0.001),
            (Timeouts(firstByte: .seconds(Int64.max), betweenBytes: .zero), 604_800),
        ] as [(Timeouts, Double)])
    func timeout(timeouts: Timeouts, seconds: Double) throws {
        let request = try api.get(.none, from: "/").with(timeouts: timeouts).toURLRequest()
        #expect(request.timeoutInterval == seconds)
    }

    @Test(
        "a cache policy converts to URLRequest's and back", .rows("RQ-4"),
        arguments: [
            PreparedRequest.CachePolicy.useProtocolCachePolicy, .reloadIgnoringLocalCacheData, .returnCacheDataElseLoad,
            .returnCacheDataDontLoad, .reloadRevalidatingCacheData,
        ])
    func cachePolicy(policy: PreparedRequest.CachePolicy) throws {
        let request = try api.get(.none, from: "/").with(cachePolicy: policy).toURLRequest()
        #expect(PreparedRequest.CachePolicy(request.cachePolicy) == policy)
    }

    @Test("a cache policy of Foundation's type in a request type is ignored", .rows("RQ-2"))
    func foundationCachePolicy() throws {
        let request = CachedRequest()
        #expect(request.cachePolicy == URLRequest.CachePolicy.returnCacheDataDontLoad)
        #expect(try request.toURLRequest().cachePolicy == .useProtocolCachePolicy)
    }

    @Test(
        "options are set on URLRequest, and unset ones keep the defaults of Foundation", .rows("AF-2", "PM-26"),
        arguments: [
            (RequestOptions.ServiceType.background, NSURLRequest.NetworkServiceType.background), (.video, .video),
            (.voice, .voice), (.standard, .default), (.responsiveData, .default),
        ])
    func options(type: RequestOptions.ServiceType, foundation: NSURLRequest.NetworkServiceType) throws {
        let request = api.get(.none, from: "/")
        let plain = try request.toURLRequest()
        let untouched = URLRequest(url: URL("https://e.com/"))
        #expect(plain.allowsCellularAccess == untouched.allowsCellularAccess)
        #expect(plain.httpShouldHandleCookies == untouched.httpShouldHandleCookies)
        #expect(plain.networkServiceType == untouched.networkServiceType)
        for value in [true, false] {
            let options = RequestOptions(allowsCellularAccess: value, handlesCookies: value, serviceType: type)
            let changed = try request.with(options: options).toURLRequest()
            #expect(changed.allowsCellularAccess == value && changed.httpShouldHandleCookies == value)
            #expect(changed.networkServiceType == foundation)
        }
    }

    @Test("repeated fields are joined with a comma, under the name of the first", .rows("RQ-17", "C8"))
    func repeatedFields() throws {
        let request = try api.get(.none, from: "/").adding(headerFields: [
            Field(name: "x-A", value: "1"), Field(name: "X-a", value: "2"),
        ]).toURLRequest()
        #expect(request.allHTTPHeaderFields == ["x-A": "1,2"])
    }

    @Test("a URLRequest converts to a prepared request and back", .rows("L10", "HT-4"))
    func roundTrip() throws {
        var original = URLRequest(
            url: try #require(URL(string: "https://e.com/a?b=c")), cachePolicy: .returnCacheDataDontLoad,
            timeoutInterval: 12)
        original.httpMethod = "PUT"
        original.allHTTPHeaderFields = ["X-B": "2", "X-A": "1", "Content-Length": "99", "Host": "evil"]
        original.httpBody = Data("x".utf8)
        let prepared = try PreparedRequest(original)
        #expect(prepared.header.map(\.name.rawValue) == ["X-A", "X-B"])
        #expect(prepared.timeouts.firstByte == .seconds(12) && prepared.timeouts.betweenBytes == .seconds(12))
        let copy = try URLRequest(prepared)
        #expect(copy.url == original.url && copy.httpMethod == "PUT" && copy.httpBody == original.httpBody)
        #expect(copy.cachePolicy == .returnCacheDataDontLoad && copy.timeoutInterval == 12)
        #expect(copy.allHTTPHeaderFields == ["X-A": "1", "X-B": "2"])
    }

    @Test("a timeout interval of a week or more is converted to no limit")
    func noLimit() throws {
        let endless = URLRequest(url: URL("https://e.com/"), timeoutInterval: .infinity)
        #expect(try PreparedRequest(endless).timeouts.firstByte == nil)
    }

    @Test("a URLRequest without a host is rejected")
    func withoutHost() {
        let error = #expect(throws: RequestError.self) { try PreparedRequest(URLRequest(url: URL("file:///etc"))) }
        #expect(error?.reason == .invalidRequest(.invalidHost))
    }
}
