import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Error payloads")
struct ErrorPayloadTests {
    struct Refusal: Decodable, Equatable {
        var why: String
    }

    static func error<R: RequestConvertible>(
        _ body: String, type: String? = "application/json", status: HTTPStatus = 500, _ request: R
    ) async throws -> RequestError where R.Resource: Sendable {
        try #require(
            await #expect(throws: RequestError.self) {
                try await FormatTests.stub(body, type: type, status: status).perform(request)
            })
    }

    @Test("a declared payload is decoded from the thrown error", .rows("HT-31", "PM-69", "AF-53"))
    func declared() async throws {
        let request = api.get(.json([Int].self), from: "/x").decodingErrorPayload(as: Refusal.self)
        let error = try await Self.error("{\"why\":\"full\"}", type: "text/plain", status: 507, request)
        #expect(error.payload(as: Refusal.self) == Refusal(why: "full") && error.status == 507)
        #expect(error.payload(as: Int.self) == nil)
        #expect(try await Self.error("nonsense", request).payload(as: Refusal.self) == nil)
        let length = api.get(.data, from: "/x").decodingErrorPayload { head, data in
            "\(head.status.code)/\(data.count)"
        }
        #expect(try await Self.error("abc", status: 404, length).payload() == "404/3")
        let undeclared = try await Self.error("{\"why\":\"x\"}", api.get(.data, from: "/x"))
        #expect(undeclared.payload(as: Refusal.self) == Refusal(why: "x"))
        #expect(RequestError(.cancelled).payload(as: Refusal.self) == nil)
    }

    @Test(
        "the body of an error is JSON if its content type is, or if JSON is assumed",
        .rows("PM-70", "PM-26", "T-35", "HT-32"),
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
        "a code and a message are found under their usual names, nested ones first", .rows("HT-31", "HT-32", "T-82"),
        arguments: [
            ("{\"code\":500,\"message\":\"Database error\"}", "500", "Database error"),
            ("{\"error\":{\"error_code\":\"E1\",\"message\":\"m\"}}", "E1", "m"),
            ("{\"code\":1,\"message\":\"a\",\"error\":{\"code\":2}}", "2", "a"), ("[1]", nil, nil), ("{}", nil, nil),
            ("{\"error\":\"x\",\"error_message\":\"y\"}", "x", "y"), ("{\"code\":null}", nil, nil),
        ] as [(String, String?, String?)])
    func messages(body: String, code: String?, message: String?) async throws {
        for status in [HTTPStatus(400), 520] {
            let error = try await Self.error(body, status: status, api.get(.data, from: "/x"))
            #expect(error.message?.code == code && error.message?.text == message)
        }
        // An unregistered status is a success if its class is.
        #expect(try await FormatTests.stub(body, status: 299).perform(api.get(.text, from: "/x")) == body)
    }

    @Test(
        "an error has the status, URL and text of the response, and no body where none is allowed",
        .rows("PM-69", "T-36", "AF-50", "HT-32")
    )
    func properties() async throws {
        let request = api.get(.json([Int].self), from: "/x")
        #expect(try await Self.error("a", status: 419, request).status == 419)
        #expect(try await Self.error("a", status: 401, request).status == 401)
        let redirect = try await Self.error("", status: 304, request)
        #expect(redirect.reason == .unexpectedRedirect && redirect.status == 304)
        let nothing = try await Self.error("", type: nil, status: 204, request)
        #expect(nothing.status == 204 && nothing.body?.isEmpty != false)
        let error = try await Self.error("é", type: "text/html", status: 200, request)
        // The error for an unexpected content type also has the status.
        #expect(error.reason == .unexpectedContentType && error.bodyText == "é" && error.status == 200)
        #expect(error.url?.absoluteString == "https://e.com/api/x" && error.bodyJSON == nil)
        #expect(RequestError(.cancelled).url == nil && RequestError(.cancelled).bodyText == nil)
    }

    @Test("problem details are decoded, and members of the wrong type are ignored (RFC 9457)")
    func problems() async throws {
        let body = """
            {"type": "https://e.com/out-of-credit", "title": "No credit", "status": 403, "detail": 7, \
            "instance": "/a", "balance": 30}
            """
        let error = try await Self.error(
            body, type: "Application/Problem+JSON", status: 403, api.get(.data, from: "/x"))
        let problem = try #require(error.problemDetails)
        #expect(problem.type == "https://e.com/out-of-credit" && problem.title == "No credit" && problem.status == 403)
        #expect(problem.detail == nil && problem.instance == "/a" && problem.extensions == ["balance": 30])
        #expect(ProblemDetails([:])?.type == "about:blank" && ProblemDetails([1]) == nil)
        #expect(try JSONDecoder().decode(ProblemDetails.self, from: Data(body.utf8)) == problem)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ProblemDetails.self, from: Data("[]".utf8)) }
    }

    @Test("an error distinguishes truncated JSON from invalid JSON", .rows("T-58"))
    func cutShort() async throws {
        let request = api.get(.json([Int].self), from: "/x")
        #expect(try await Self.error("[1, 2", status: 200, request).isJSONTruncated)
        #expect(try await !Self.error("[1, nope]", status: 200, request).isJSONTruncated)
        #expect(try await !Self.error("[\"x\"]", status: 200, request).isJSONTruncated)
        #expect(try await !Self.error("[1, 2", status: 500, request).isJSONTruncated)
        #expect(try await Self.error("{\"a\":", status: 200, api.get(.jsonValue, from: "/x")).isJSONTruncated)
    }

    @Test("if status and content type are both unacceptable, only the status is an error", .rows("AF-50", "T-72"))
    func bothUnacceptable() async throws {
        let request = api.get(.json([Int].self), from: "/x")
        for validator in [ResponseValidator.standard, .strict()] {
            let error = try await Self.error("x", type: "text/html", status: 500, request.validating(validator))
            #expect(error.reason == .unacceptableStatus)
            #expect(error.underlying == nil && !error.debugDescription.contains("content type"))
        }
        let missing = try await Self.error("x", type: nil, status: 500, request.validating(.strict()))
        #expect(missing.reason == .unacceptableStatus && missing.underlying == nil)
    }
}
