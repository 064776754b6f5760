import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("The messages of servers")
struct ErrorMessageTests {
    private static func error(
        _ body: String, type: String? = "application/json", status: HTTPStatus = 400,
        _ change: (Request<AnonymousRequestProvider, Data>) -> Request<AnonymousRequestProvider, Data> = { $0 }
    ) async throws -> RequestError {
        try await ErrorPayloadTests.error(body, type: type, status: status, change(api.get(.data, from: "/x")))
    }

    @Test(
        "the code and the message are found in the shapes of many APIs", .rows("HT-31", "T-82"),
        arguments: [
            // Prometheus, OAuth (RFC 6749 §5.2), Spring
            (#"{"error": "bad query"}"#, nil, "bad query"),
            (#"{"status":"error","errorType":"bad_data","error":"parse error"}"#, "bad_data", "parse error"),
            (#"{"error":"invalid_grant","error_description":"expired"}"#, "invalid_grant", "expired"),
            (#"{"status":404,"error":"Not Found","path":"/x"}"#, nil, "Not Found"),
            // OpenAI, Anthropic, Google
            (#"{"error":{"message":"m","type":"t","code":null}}"#, "t", "m"),
            (#"{"type":"error","error":{"type":"overloaded","message":"m"}}"#, "overloaded", "m"),
            (#"{"error":{"code":404,"message":"m","status":"NOT_FOUND"}}"#, "404", "m"),
            // Container registries, JSON:API, GraphQL, a list of texts
            (#"{"errors":[{"code":"NAME_UNKNOWN","message":"m","detail":{}}]}"#, "NAME_UNKNOWN", "m"),
            (#"{"errors":[{"status":"422","title":"t","detail":"d"}]}"#, nil, "d"),
            (#"{"errors":["first","second"]}"#, nil, "first"),
            // GitHub, Laravel
            (#"{"message":"Validation Failed","errors":[{"code":"missing"}]}"#, "missing", "Validation Failed"),
            (#"{"message":"invalid","errors":{"email":["required"]}}"#, nil, "invalid"),
            // FastAPI
            (#"{"detail":"Not authenticated"}"#, nil, "Not authenticated"),
            (#"{"detail":[{"loc":["body"],"msg":"field required","type":"missing"}]}"#, "missing", "field required"),
            // AWS
            (#"{"__type":"com.amazon#NotFound","Message":"m"}"#, "com.amazon#NotFound", "m"),
            // Others
            (#"{"error":true,"message":"m"}"#, nil, "m"), (#"{"error":"","message":""}"#, nil, nil),
            (#"{"errors":[]}"#, nil, nil), (#""text""#, nil, nil), ("{", nil, nil), ("null", nil, nil),
        ] as [(String, String?, String?)])
    func shapes(body: String, code: String?, message: String?) async throws {
        let found = try await Self.error(body).message
        #expect(found?.code == code && found?.text == message)
    }

    @Test("problem details and plain text are messages; HTML and unknown types are not", .rows("HT-31", "T-82"))
    func types() async throws {
        let problem = #"{"type":"https://e.com/credit","title":"No credit","detail":"30 missing"}"#
        let details = try await Self.error(problem, type: "application/problem+json").message
        #expect(details?.code == "https://e.com/credit" && details?.text == "30 missing")
        let text = try await Self.error(" no such page\n\n", type: "text/plain; charset=utf-8").message
        #expect(text?.code == nil && text?.text == "no such page")
        #expect(try await Self.error(" \n", type: "text/plain").message == nil)
        for type in ["text/html", "application/octet-stream", nil] {
            #expect(try await Self.error("no such page", type: type).message == nil)
        }
        let json = try await Self.error(#"{"message":"m"}"#, type: "text/plain") { $0.assumingErrorsAreJSON() }
        #expect(json.message?.text == "m")
    }

    @Test(
        "the description of a rejected status ends with the message of the server", .rows("HT-31"),
        arguments: [
            (#"{"message":"no such user"}"#, "application/json", ": “no such user”"),
            (
                #"{"errors":[{"code":"NAME_UNKNOWN","message":"no\r\nsuch"}]}"#, "application/json",
                ": “no\\r\\nsuch” (NAME_UNKNOWN)"
            ),
            (#"{"code":17}"#, "application/json", ": code 17"),
            ("page not found\n", "text/plain", ": “page not found”"),
            ("{}", "application/json", ""), ("<p>no</p>", "text/html", ""), ("", "application/json", ""),
            ("\(String(repeating: "é", count: 200))", "text/plain", ": “\(String(repeating: "é", count: 160))…”"),
        ] as [(String, String, String)])
    func lines(body: String, type: String, end: String) async throws {
        let error = try await Self.error(body, type: type, status: 404)
        #expect("\(error)" == "GET https://e.com/api/x: 404 Not Found: unacceptable status\(end)")
        #expect(error.debugDescription.hasPrefix("\(error)\n"))
    }

    @Test("a message shows no secret of the request or the body, even where it is cut", .rows("R-74"))
    func secrets() async throws {
        let secret = "hunter2-hunter2-hunter2"
        let repeated = "{\"message\":\"the token \(secret) is unknown\"}"
        let bearer = { (request: Request<AnonymousRequestProvider, Data>) in
            request.authenticated(with: .bearerToken(secret))
        }
        let bodies = [
            "{\"message\":\"not \(secret)\",\"access_token\":\"\(secret)\"}",
            "{\"message\":\"not \\u0068\(secret.dropFirst())\",\"access_token\":\"\(secret)\"}",
            "{\"message\":{\"password\":\"\(secret)\"},\"code\":\"\(secret)\",\"password\":\"\(secret)\"}",
            "{\"message\":\"{\\\"password\\\":\\\"\(secret)\\\"}\"}",
        ]
        var errors = [try await Self.error(repeated, bearer)]
        for body in bodies { errors.append(try await Self.error(body)) }
        errors.append(try await Self.error("{\"password\":\"\(secret)\"}", type: "text/plain"))
        for length in 130...165 {
            let message = String(repeating: "x", count: length) + " \(secret)"
            errors.append(try await Self.error("{\"message\":\"\(message)\"}", bearer))
        }
        for error in errors {
            for text in ["\(error)", error.debugDescription, error.localizedDescription] {
                #expect(!text.contains("hunter"), "\(text)")
            }
        }
        #expect("\(errors[0])".hasSuffix(": “the token <redacted> is unknown”"))
    }

    @Test("the bodies of an exchange with secret bodies are not described", .rows("R-74"))
    func secretBodies() async throws {
        let error = try await Self.error(#"{"message":"your code is 1234"}"#) {
            $0.setting(attribute: SecretBodies.self, to: [])
        }
        #expect("\(error)".hasSuffix(": unacceptable status") && error.message?.text == "your code is 1234")
    }
}
