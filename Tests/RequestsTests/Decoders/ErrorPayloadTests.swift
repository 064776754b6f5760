import Requests
import Testing

private let api = AnonymousRequestProvider.example

@Suite("What errors say")
struct ErrorPayloadTests {
    struct Refusal: Decodable, Equatable {
        var why: String
    }

    static func error<R: RequestConvertible>(
        _ body: String, type: String? = "application/json", status: HTTPStatus = 500, _ request: R
    ) async throws -> RequestError where R.Resource: Sendable {
        try #require(
            await #expect(throws: RequestError.self) {
                try await FormatTests.answer(body, type: type, status: status).perform(request)
            })
    }

    @Test("a declared payload is read from the thrown error (HT-31, PM-69, AF-53)")
    func declared() async throws {
        let request = api.get(.json([Int].self), from: "/x").failing(as: Refusal.self)
        let error = try await Self.error("{\"why\":\"full\"}", type: "text/plain", status: 507, request)
        #expect(error.payload(as: Refusal.self) == Refusal(why: "full") && error.status == 507)
        #expect(error.payload(as: Int.self) == nil)
        #expect(try await Self.error("nonsense", request).payload(as: Refusal.self) == nil)
        let length = api.get(.data, from: "/x").failing { head, data in "\(head.status.code)/\(data.count)" }
        #expect(try await Self.error("abc", status: 404, length).payload() == "404/3")
        let undeclared = try await Self.error("{\"why\":\"x\"}", api.get(.data, from: "/x"))
        #expect(undeclared.payload(as: Refusal.self) == Refusal(why: "x"))
        #expect(RequestError(.cancelled).payload(as: Refusal.self) == nil)
    }

    @Test(
        "the body is JSON when its type says so, or when that is assumed (PM-70, T-35)",
        arguments: [
            ("application/json", "{\"error\":1}", false, true), ("text/json", "{\"error\":1}", false, true),
            ("application/problem+json", "{\"error\":1}", false, true), ("text/plain", "{\"error\":1}", false, false),
            ("application/json", "{", false, false), ("text/plain", "{\"error\":1}", true, true),
            (nil, "{\"error\":1}", false, false), ("text/javascript", "{\"error\":1}", false, false),
        ] as [(String?, String, Bool, Bool)])
    func bodyJSON(type: String?, body: String, isAssumed: Bool, isJSON: Bool) async throws {
        var request = api.get(.data, from: "/x")
        if isAssumed { request = request.assumingErrorsAreJSON() }
        let error = try await Self.error(body, type: type, request)
        #expect(error.reason == .unacceptableStatus && error.body == Data(body.utf8))
        #expect(error.bodyJSON == (isJSON ? ["error": 1] : Optional.none))
    }

    @Test(
        "code and message under their usual names, the nested ones first (HT-31, T-82)",
        arguments: [
            ("{\"code\":500,\"message\":\"Database error\"}", "500", "Database error"),
            ("{\"error\":{\"error_code\":\"E1\",\"message\":\"m\"}}", "E1", "m"),
            ("{\"code\":1,\"message\":\"a\",\"error\":{\"code\":2}}", "2", "a"), ("[1]", nil, nil), ("{}", nil, nil),
            ("{\"error\":\"x\",\"error_message\":\"y\"}", nil, "y"), ("{\"code\":null}", nil, nil),
        ] as [(String, String?, String?)])
    func messages(body: String, code: String?, message: String?) async throws {
        for status in [HTTPStatus(400), 520] {
            let error = try await Self.error(body, status: status, api.get(.data, from: "/x"))
            #expect(error.message?.code == code && error.message?.message == message)
        }
        // A status that nobody has named is a success when its class is.
        #expect(try await FormatTests.answer(body, status: 299).perform(api.get(.text, from: "/x")) == body)
    }

    @Test("status, URL and text of an error; no body where there can be none (PM-69, T-36, HT-32)")
    func properties() async throws {
        let request = api.get(.json([Int].self), from: "/x")
        #expect(try await Self.error("a", status: 419, request).status == 419)
        #expect(try await Self.error("a", status: 401, request).status == 401)
        let redirect = try await Self.error("", status: 304, request)
        #expect(redirect.reason == .unexpectedRedirect && redirect.status == 304)
        let nothing = try await Self.error("", type: nil, status: 204, request)
        #expect(nothing.status == 204 && nothing.body?.isEmpty != false)
        let error = try await Self.error("é", type: "text/html", status: 200, request)
        // The status that came with a content type nobody asked for is told as well.
        #expect(error.reason == .unexpectedContentType && error.bodyText == "é" && error.status == 200)
        #expect(error.url?.absoluteString == "https://e.com/api/x" && error.bodyJSON == nil)
        #expect(RequestError(.cancelled).url == nil && RequestError(.cancelled).bodyText == nil)
    }

    @Test("problem+json is a value; members of the wrong type are left out (RFC 9457)")
    func problems() async throws {
        let body = """
            {"type": "https://e.com/out-of-credit", "title": "No credit", "status": 403, "detail": 7, \
            "instance": "/a", "balance": 30}
            """
        let error = try await Self.error(
            body, type: "Application/Problem+JSON", status: 403, api.get(.data, from: "/x"))
        let problem = try #require(error.problem)
        #expect(problem.type == "https://e.com/out-of-credit" && problem.title == "No credit" && problem.status == 403)
        #expect(problem.detail == nil && problem.instance == "/a" && problem.extensions == ["balance": 30])
        #expect(ProblemDetails([:])?.type == "about:blank" && ProblemDetails([1]) == nil)
        #expect(try JSONDecoder().decode(ProblemDetails.self, from: Data(body.utf8)) == problem)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ProblemDetails.self, from: Data("[]".utf8)) }
    }

    @Test("JSON cut short is told from JSON that is wrong on the error (T-58)")
    func cutShort() async throws {
        let request = api.get(.json([Int].self), from: "/x")
        #expect(try await Self.error("[1, 2", status: 200, request).isJSONCutShort)
        #expect(try await !Self.error("[1, nope]", status: 200, request).isJSONCutShort)
        #expect(try await !Self.error("[\"x\"]", status: 200, request).isJSONCutShort)
        #expect(try await !Self.error("[1, 2", status: 500, request).isJSONCutShort)
        #expect(try await Self.error("{\"a\":", status: 200, api.get(.jsonValue, from: "/x")).isJSONCutShort)
    }

    @Test("status and type both wrong: the status is the error, the type underneath (AF-50, T-72)")
    func nested() async throws {
        let request = api.get(.json([Int].self), from: "/x")
        for validator in [Validator.standard, .strict()] {
            let error = try await Self.error("x", type: "text/html", status: 500, request.validating(validator))
            #expect(error.reason == .unacceptableStatus)
            #expect((error.underlying as? RequestError)?.reason == .unexpectedContentType)
        }
        let missing = try await Self.error("x", type: nil, status: 500, request.validating(.strict()))
        #expect((missing.underlying as? RequestError)?.reason == .unexpectedContentType)
        #expect(try await Self.error("x", status: 500, request).underlying == nil)
    }
}
