import Requests
import TestSupport
import Testing

private let secret = "hunter2-Äsecret"
/// A secret that a bearer token can have.
private let token = "hunter2-token"

@Suite("Redaction")
struct RedactionTests {
    private func request(_ field: Field? = nil) throws -> Request<AnonymousRequestProvider, [Int]> {
        let request = try AnonymousRequestProvider(text: "https://user:hunter2-%C3%84secret@e.com/a?api_key=hunter2")
            .get(.json([Int].self), from: "/b").adding(queryItem: ("Access_Token", secret))
            .adding(queryItem: ("page", 1))
        return field.map { request.adding(headerField: $0) } ?? request
    }

    private func expectHidden<Value>(_ value: Value, sourceLocation: SourceLocation = #_sourceLocation) {
        for text in everyText(of: value) {
            #expect(!text.contains("hunter2"), "\(Value.self): \(text)", sourceLocation: sourceLocation)
            #expect(!text.contains("aHVudGVy") && !text.contains("dXNlcjpo"), "\(text)", sourceLocation: sourceLocation)
        }
    }

    @Test(
        "a secret appears in no description, debug description or dump", .rows("R-8", "R-74"),
        arguments: [
            "Authorization", "authorization", "Proxy-Authorization", "Cookie", "SET-COOKIE", "x-api-key",
            "X-Auth-Token", "X-CSRF-Token",
        ])
    func planted(name: String) throws {
        let field = Field(name: Field.Name(name), value: "Bearer \(token)")
        let described = try request(field)
        let prepared = try described.prepared()
        #expect(prepared.header[field.name] == field.value)
        expectHidden(field)
        expectHidden(Header([field]))
        expectHidden([field])
        expectHidden(described)
        expectHidden(described.queryItems)
        expectHidden(described.queryItems[0])
        expectHidden(prepared)
        expectHidden(prepared.target)
        expectHidden(Optional(prepared))
        expectHidden(ResponseHead(status: 200, header: [field], target: prepared.target))
        expectHidden(
            RequestError(
                .decodingFailed, request: prepared,
                response: ResponseHead(status: 200, header: [field], target: prepared.target)))
        #expect(prepared.wireText.contains(Redaction.placeholder))
        #expect("\(prepared.target)" == "https://e.com/a/b?api_key=<redacted>&Access_Token=<redacted>&page=1")
    }

    @Test("the request's secrets are redacted in underlying errors and response bodies", .rows("R-8", "R-74"))
    func inOtherErrors() throws {
        struct Talkative: Error, CustomStringConvertible {
            var description: String {
                "cannot load https://user:hunter2-%C3%84secret@e.com/?api_key=hunter2&access_token=\(secret)"
            }
        }
        let prepared = try request(Field(name: .authorization, value: "Bearer \(token)")).prepared()
        let error = RequestError(
            .connectionFailed, underlying: Talkative(), request: prepared, body: Data("you sent Bearer \(token)".utf8))
        expectHidden(error)
        #expect(String(reflecting: error).contains("cannot load https://user:<redacted>@e.com/"))
        #expect(String(reflecting: error).contains("you sent <redacted>"))
    }

    @Test("an escaped name in a query is redacted like its decoded form", .rows("R-8"))
    func escapedName() throws {
        expectHidden(try TargetURI("https://e.com/?%74oken=hunter2&a=b"))
        expectHidden(try TargetURI("https://e.com/?TOKEN=hunter2=3"))
    }

    @Test("values that are not secrets are shown")
    func shown() throws {
        let header: Header = [Field(name: "X-Page", value: "1")]
        #expect("\(header)" == "X-Page: 1")
        #expect("\(try TargetURI("https://e.com/?a=b&token"))" == "https://e.com/?a=b&token")
        let query: QueryItems = ["a": "b c", "flag": nil, "token": "x"]
        #expect("\(query)" == "a=b%20c&flag&token=<redacted>")
    }

    @Test("values of request attributes are not shown", .rows("R-8"))
    func attributes() throws {
        enum Key: RequestAttributes.Key { typealias Value = String }
        var attributes = RequestAttributes()
        attributes[Key.self] = secret
        expectHidden(attributes)
    }
}
