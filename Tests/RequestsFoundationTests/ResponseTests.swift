import RequestsFoundation
import TestSupport
import Testing

private struct FixedResponse: RequestExecutor {
    var status: HTTPStatus = 200
    var header: Header = .empty
    var body = Data()

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        RawResponse(head: ResponseHead(status: status, header: header, target: request.target), body: .bytes(body))
    }
}

private let api = AnonymousRequestProvider("https://e.com/a")

@Suite("HTTPURLResponse, HTTPCookie and text encodings")
struct ResponseTests {
    @Test("a response head converts to HTTPURLResponse and back", .rows("L10", "L15"))
    func roundTrip() throws {
        let target = try TargetURI("https://e.com/a?b=c")
        let head = ResponseHead(
            status: 418,
            header: [
                Field(name: "etag", value: "\"1\""), Field(name: .setCookie, value: "a=1; Path=/"),
                Field(name: .setCookie, value: "b=2; Expires=Wed, 09 Jun 2031 10:18:14 GMT"),
                Field(name: "X-a", value: "1"), Field(name: "x-A", value: "2"),
            ], target: target)
        let response = try #require(HTTPURLResponse(head))
        #expect(response.statusCode == 418)
        #expect(response.url?.absoluteString == "https://e.com/a?b=c")
        #expect(response.value(forHTTPHeaderField: "X-A") == "1,2")
        let copy = try ResponseHead(response)
        #expect(copy.status == 418 && copy.target == target)
        #expect(copy.header[.etag] == "\"1\"")
        #expect(copy.header.values(of: .setCookie) == head.header.values(of: .setCookie))
        #expect(head.cookies.map(\.name) == ["a", "b"])
    }

    @Test(
        "joined Set-Cookie fields are split at the commas between cookies (RFC 6265 §3)", .rows("R-75"),
        arguments: [
            ("a=1", ["a=1"]), ("a=1, b=2", ["a=1", "b=2"]), ("a=1,b=2", ["a=1", "b=2"]),
            (
                "a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT, b=2; Secure",
                ["a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT", "b=2; Secure"]
            ),
            ("a=x,y", ["a=x,y"]), ("a=1,", ["a=1,"]), ("", [""]), ("a=1, =2", ["a=1, =2"]), (",,", [",,"]),
            // A combining mark after a delimiter does not hide it.
            ("a=1, b=\u{301}2", ["a=1", "b=\u{301}2"]), ("a=1,\u{200D}b=2", ["a=1", "\u{200D}b=2"]),
        ])
    func setCookie(joined: String, cookies: [String]) {
        #expect(JoinedFields.cookies(of: joined) == cookies)
    }

    @Test(
        "cookies without a name are separated after an attribute, and Expires keeps its comma", .rows("R-75", "D-22"),
        arguments: [
            ("a=1; Path=/x, plain", ["a=1; Path=/x", "plain"]),
            ("a=1; Secure, =2; Path=/", ["a=1; Secure", "=2; Path=/"]),
            ("a=1; path=/x,y, b=2", ["a=1; path=/x,y", "b=2"]), ("a=Doe, John; Path=/", ["a=Doe, John; Path=/"]),
            ("a=1; expires=Wed, 09 Jun 2031 10:18:14 GMT", ["a=1; expires=Wed, 09 Jun 2031 10:18:14 GMT"]),
            (
                "a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT, plain; Secure",
                ["a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT", "plain; Secure"]
            ),
            ("a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT, 7", ["a=1; Expires=Wed, 09 Jun 2031 10:18:14 GMT", "7"]),
        ])
    func namelessCookies(joined: String, cookies: [String]) {
        #expect(JoinedFields.cookies(of: joined) == cookies)
    }

    @Test(
        "joined Location fields are split only where another reference begins", .rows("R-75", "D-22"),
        arguments: [
            ("/find?by=Doe, John", ["/find?by=Doe, John"]), ("/a, /b", ["/a", "/b"]), ("/a,b, /c,d", ["/a,b", "/c,d"]),
            ("/a, https://e.com/b", ["/a", "https://e.com/b"]), ("/a,/b", ["/a,/b"]), ("/a, ", ["/a, "]), ("", [""]),
            ("/t?at=a, b:c", ["/t?at=a, b:c"]), ("/a, //e.com", ["/a", "//e.com"]), ("/a, ://", ["/a, ://"]),
        ])
    func joinedLocations(joined: String, locations: [String]) {
        #expect(JoinedFields.locations(of: joined) == locations)
    }

    @Test(
        "white space around values is removed (RFC 9110 §5.5)", .rows("D-22"),
        arguments: [("a", "a"), (" a\t", "a"), ("a b \t ", "a b"), (" \t", ""), ("", ""), ("\u{301} ", "\u{301}")])
    func whiteSpace(value: String, trimmed: String) {
        #expect(JoinedFields.trimming(value) == trimmed)
    }

    @Test("a cookie converts to HTTPCookie for the host of a URL and back; without a host to nil", .rows("L13"))
    func cookieConversion() throws {
        let cookie = try Cookie(name: "a", value: "b=c")
        let url = try #require(URL(string: "https://example.com:8443/x?y"))
        let httpCookie = try #require(HTTPCookie(cookie, for: url))
        #expect(httpCookie.domain == "example.com" && httpCookie.path == "/" && httpCookie.expiresDate == nil)
        #expect(Cookie(httpCookie) == cookie)
        #expect(HTTPCookie(cookie, for: URL(filePath: "/tmp")) == nil)
        #expect(HTTPCookie.requestHeaderFields(with: [httpCookie]) == ["Cookie": "a=b=c"])
    }

    @Test("cookies are joined in one field; no cookies result in no field (RFC 6265 §5.4)")
    func cookies() throws {
        let target = try TargetURI("https://e.com/a")
        let head = ResponseHead(
            status: 200, header: [Field(name: .setCookie, value: "a=1"), Field(name: .setCookie, value: "b=2")],
            target: target)
        #expect(Field.cookie(head.cookies) == Field(name: .cookie, value: "a=1; b=2"))
        #expect(Field.cookie([]) == nil)
    }

    @Test("text is decoded in an encoding, and an error names the encoding", .rows("RQ-25", "T-14"))
    func text() async throws {
        let request = api.get(.text(encoding: .isoLatin1), from: "")
        #expect(try await FixedResponse(body: Data([0xE9])).perform(request) == "é")
        let error = await #expect(throws: RequestError.self) {
            try await FixedResponse(body: Data([0xC3, 0xA9])).perform(api.get(.text(encoding: .ascii), from: ""))
        }
        #expect(error?.reason == .decodingFailed)
        let cause = try #require(error?.underlying as? CocoaError)
        #expect(cause.code == .fileReadInapplicableStringEncoding)
        #expect(cause.userInfo[NSStringEncodingErrorKey] as? UInt == String.Encoding.ascii.rawValue)
        let empty = await #expect(throws: RequestError.self) { try await FixedResponse(status: 204).perform(request) }
        #expect(empty?.reason == .unexpectedNoContent)
    }

    @Test("a decoder can receive an HTTPURLResponse, as in 0.3.2", .rows("RQ-25"))
    func foundationDecoder() async throws {
        let decoder = ResponseDecoder<Int> { response, _ in response.statusCode }
        #expect(try await FixedResponse(status: 201).perform(api.get(decoder, from: "")) == 201)
    }
}

@Suite("RequestError as NSError")
struct ErrorTests {
    private func failure(_ response: FixedResponse) async throws -> RequestError {
        let request = api.get(.json([String: Int].self), from: "/x").adding(queryItem: ("token", "hunter2"))
            .authenticated(with: .bearerToken("hunter2"))
        return try #require(await #expect(throws: RequestError.self) { try await response.perform(request) })
    }

    @Test("the user info contains status, content type, response, body and JSON", .rows("PM-69", "PM-71"))
    func userInfo() async throws {
        let error = try await failure(
            FixedResponse(
                status: 404, header: [.contentType(.json), Field(name: .setCookie, value: "s=hunter2")],
                body: Data(#"{"a":1,"b":null,"c":{"d":null,"e":[null]}}"#.utf8)))
        let nsError = error as NSError
        #expect(nsError.domain == "Requests.RequestError")
        #expect(nsError.code == 1)
        #expect(nsError.userInfo["statusCode"] as? Int == 404)
        #expect(nsError.userInfo["contentType"] as? String == "application/json")
        #expect((nsError.userInfo["response"] as? HTTPURLResponse)?.statusCode == 404)
        #expect((nsError.userInfo["body"] as? Data)?.count == 42)
        let json = try #require(nsError.userInfo["json"] as? [String: Any])
        #expect(Set(json.keys) == ["a", "c"])
        #expect((json["c"] as? [String: Any])?.keys.sorted() == ["e"])
        #expect(nsError.localizedDescription == error.description)
        #expect(error.httpStatusCode == 404 && nsError.httpStatusCode == 404)
        var dumped = ""
        dump(nsError.userInfo, to: &dumped)
        for text in [dumped, nsError.description, error.localizedDescription] {
            #expect(!text.contains("hunter2"), "\(text)")
        }
    }

    @Test("the error of a redirect that is not followed contains its location", .rows("PM-69", "T-60"))
    func redirect() async throws {
        let error = try await failure(
            FixedResponse(status: 304, header: [Field(name: .location, value: "/y?password=hunter2")]))
        #expect(error.errorCode == 5)
        #expect(error.errorUserInfo["location"] as? String == "https://e.com/y?password=<redacted>")
    }

    @Test("other errors have no HTTP status")
    func others() {
        #expect(CocoaError(.fileNoSuchFile).httpStatusCode == nil)
        #expect(RequestError(.cancelled).httpStatusCode == nil)
    }

    @Test("every reason has a unique error code", .rows("PM-71"))
    func codes() {
        let reasons: [RequestError.Reason] = [
            .invalidRequest(.malformedURL), .bodyEncodingFailed, .bodyNotReplayable, .credentialsUnavailable,
            .unsupportedScheme,
            .hostNotFound, .connectionFailed, .connectionLost, .protocolViolation, .tooLarge(limit: 1),
            .unacceptableStatus, .unexpectedRedirect, .unexpectedContentType, .unexpectedNoContent, .decodingFailed,
            .fileAccessFailed, .notModified, .executorClosed,
            .timedOut(.total), .cancelled, .other,
        ]
        #expect(Set(reasons.map { RequestError($0).errorCode }).count == reasons.count)
        // These are the codes of PMHTTP.
        let former: [RequestError.Reason] = [
            .unacceptableStatus, .credentialsUnavailable, .unexpectedContentType, .unexpectedNoContent,
            .unexpectedRedirect,
        ]
        #expect(former.map { RequestError($0).errorCode } == [1, 2, 3, 4, 5])
    }
}
