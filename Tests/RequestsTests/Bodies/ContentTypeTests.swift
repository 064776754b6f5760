import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private func prepared(_ body: BodyProvider, _ own: String...) throws -> PreparedRequest {
    try api.post(body, to: "/x").adding(headerFields: own.map { Field(name: .contentType, value: $0) }).prepared()
}

/// An API whose JSON has names in snake case.
private struct SnakeCaseAPI: RequestProviding {
    let baseURL = AnonymousRequestProvider.example.baseURL

    func makeJSONEncoder() -> JSONEncoder {
        let encoder = BodyProvider.makeDeterministicEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return encoder
    }
}

private struct Item: Encodable {
    var itemName = "x"
    var rest: JSONValue = ["deepName": ["innerName": 1]]
}

@Suite("The content types of bodies")
struct ContentTypeTests {
    @Test("JSON is sent with the media type that is given, and encoded as the API encodes it", .rows("PM-45", "AF-19"))
    func jsonTypes() throws {
        let patch = try prepared(.json(["a": 1], as: "application/merge-patch+json"))
        #expect(patch.header.values(of: .contentType) == ["application/merge-patch+json"])
        #expect(patch.body.text == #"{"a":1}"#)
        let dynamo = try SnakeCaseAPI().post(.json(Item(), as: "application/x-amz-json-1.0"), to: "/").prepared()
        #expect(dynamo.header[.contentType] == "application/x-amz-json-1.0")
        #expect(dynamo.body.text == #"{"item_name":"x","rest":{"deepName":{"innerName":1}}}"#)
        #expect(try prepared(.json([1])).header[.contentType] == "application/json")
    }

    @Test("a literal with values of several types is JSON with its names as they are", .rows("PM-45", "AF-19"))
    func literals() throws {
        let name = "x"
        #expect(try prepared(.json(["a": 1, "b": "x"])).body.text == #"{"a":1,"b":"x"}"#)
        #expect(try prepared(.json([1, "two", nil, [true, 0.5]])).body.text == #"[1,"two",null,[true,0.5]]"#)
        #expect(try prepared(.json(["a": .string(name), "b": ["c": nil]])).body.text == #"{"a":"x","b":{"c":null}}"#)
        let typed = try prepared(.json(["a": 1, "b": "x"], as: "application/vnd.api+json"))
        #expect(typed.header[.contentType] == "application/vnd.api+json" && typed.body.text == #"{"a":1,"b":"x"}"#)
        for body in [
            BodyProvider.json(["userID": 1]), .json(["userID": 1, "b": "x"]), .json(["userID": 1] as JSONValue),
        ] {
            let text = try #require(try SnakeCaseAPI().post(body, to: "/").prepared().body.text)
            #expect(text.contains(#""userID":1"#), "\(text)")
        }
        let error = #expect(throws: RequestError.self) { try prepared(.json(["a": .number(.nan), "b": "x"])) }
        #expect(error?.reason == .bodyEncodingFailed && error?.mayHaveReachedServer == false)
    }

    @Test("the request's own Content-Type is sent in place of the body's", .rows("RQ-5", "AF-19"))
    func ownType() throws {
        let bodies: [BodyProvider] = [
            .json(["a": 1]), .json(encoded: 1), .raw(data: Data([1])), .text("x"), .form(["a": "b"]),
            .propertyList(["a": 1]), .file(at: URL(filePath: #filePath)),
            BodyProvider { header in
                header.set(.contentType(.png))
                return .bytes(Data([1]))
            },
        ]
        for body in bodies {
            let request = try prepared(body, "application/vnd.x+json; v=1")
            #expect(request.header.values(of: .contentType) == ["application/vnd.x+json; v=1"])
        }
        let parameters = try api.post(.none, to: "/x").adding(parameters: ["a": 1], in: .json)
            .setting(headerField: .contentType("application/vnd.api+json")).prepared()
        #expect(parameters.header.values(of: .contentType) == ["application/vnd.api+json"])
        #expect(try prepared(.none, "text/html").header[.contentType] == nil)
        let environment = try #require(RequestEnvironment(baseURL: api.baseURL, header: [.contentType(.html)]))
        let request = try api.post(.json(1), to: "/x").applyingDefaults(of: environment).prepared()
        #expect(request.header.values(of: .contentType) == ["application/json"])
    }

    @Test("a Content-Type beside a multipart form must name its boundary", .rows("RQ-5"))
    func boundaries() throws {
        let form = BodyProvider.multipart([.text("v", name: "n")], boundary: "B")
        for type in ["multipart/form-data", "multipart/form-data; boundary=C", "application/json", "x", ""] {
            expectInvalid(.boundaryNotInContentType, type) { try prepared(form, type) }
        }
        let mixed = "multipart/mixed; boundary=\"B\""
        #expect(try prepared(form, mixed).header.values(of: .contentType) == [mixed])
        #expect(try prepared(form).header[.contentType] == "multipart/form-data; boundary=B")
    }
}
