import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private func prepared(_ body: BodyProvider) throws -> PreparedRequest {
    try api.post(body, to: "/x").prepared()
}

@Suite("Body providers")
struct BodyProviderTests {
    @Test("an empty form has a content type and no body", .rows("PM-44", "AF-11", "D-17"))
    func emptyForm() throws {
        for body in [BodyProvider.form(parameters: [:]), .form(QueryItems.empty)] {
            let request = try prepared(body)
            #expect(request.body.isNone)
            #expect(request.header[.contentType] == "application/x-www-form-urlencoded")
        }
    }

    @Test("a form made from query items keeps order, duplicates and bare names", .rows("PM-43", "C3", "C6"))
    func itemForm() throws {
        let text = "x y"
        #expect(try prepared(.form(["b": 1, "a": text, "b": nil])).body.text == "b=1&a=x%20y&b")
        #expect(try prepared(.form(["b": "1", "a": "2"])).body.text == "b=1&a=2")
        #expect(try prepared(.form(parameters: ["b": ["c": [1, 2]]])).body.text == "b%5Bc%5D=1&b%5Bc%5D=2")
    }

    @Test(
        "a property list is encoded as XML or binary, and a value that cannot be one is a typed error",
        .rows("AF-20", "T-75"))
    func propertyList() throws {
        struct Settings: Codable, Equatable { var name = "n", count = 3 }
        for format in [PropertyListDecoder.PropertyListFormat.xml, .binary] {
            let request = try prepared(.propertyList(Settings(), format: format))
            #expect(request.header[.contentType] == "application/x-plist")
            guard case .bytes(let data) = request.body else { throw RequestError(.bodyEncodingFailed) }
            #expect(try PropertyListDecoder().decode(Settings.self, from: data) == Settings())
            #expect(data.starts(with: format == .xml ? Data("<?xml".utf8) : Data("bplist".utf8)))
        }
        let scalar = #expect(throws: RequestError.self) { try prepared(.propertyList(1)) }
        #expect(scalar?.reason == .bodyEncodingFailed && scalar?.mayHaveReachedServer == false)
        let null = #expect(throws: RequestError.self) {
            try api.post(.none, to: "/x").adding(parameters: ["a": [nil]], in: .propertyList).prepared()
        }
        #expect(null?.underlying as? RequestParameters.ParameterError == .nullInPropertyList)
    }

    @Test("empty JSON objects and arrays are sent", .rows("D-21"))
    func emptyJSON() throws {
        #expect(try prepared(.json([String: Int]())).body.text == "{}")
        #expect(try prepared(.json([Int]())).body.text == "[]")
        for (parameters, text) in [
            (["a": [:], "b": []], #"{"a":{},"b":[]}"#), ([:], "{}"),
        ] as [(RequestParameters, String)] {
            let request = api.post(.none, to: "/x").adding(parameters: parameters, in: .json)
            #expect(try request.prepared().body.text == text)
        }
    }

    @Test("numbers that JSON cannot represent are a typed error, for values and for parameters", .rows("T-75", "AF-19"))
    func invalidJSON() {
        for value in [Double.nan, .infinity] {
            let encoded = #expect(throws: RequestError.self) { try prepared(.json(["a": value])) }
            #expect(encoded?.reason == .bodyEncodingFailed && encoded?.underlying is EncodingError)
            let parameters = #expect(throws: RequestError.self) {
                try api.post(.none, to: "/x").adding(parameters: ["a": .double(value)], in: .json).prepared()
            }
            #expect(parameters?.reason == .bodyEncodingFailed && parameters?.mayHaveReachedServer == false)
        }
    }

    @Test("JSON is encoded with a hundred levels of nesting")
    func deepJSON() throws {
        let value = (0..<100).reduce(1 as RequestParameters.Value) { value, _ in [value] }
        let text = try prepared(.json(["a": value] as RequestParameters)).body.text
        #expect(text == #"{"a":"# + String(repeating: "[", count: 100) + "1" + String(repeating: "]", count: 100) + "}")
    }

    @Test(
        "text is encoded in its charset, which Content-Type names",
        arguments: [
            (BodyProvider.Charset.utf8, "é", [0xC3, 0xA9] as [UInt8]), (.ascii, "e", [0x65]), (.latin1, "é", [0xE9]),
            (.utf16, "é👍", [0xFE, 0xFF, 0x00, 0xE9, 0xD8, 0x3D, 0xDC, 0x4D]),
        ])
    func text(charset: BodyProvider.Charset, text: String, bytes: [UInt8]) throws {
        let request = try prepared(.text(text, in: charset))
        #expect(request.body.bytes == Data(bytes))
        #expect(request.header[.contentType] == "text/plain; charset=\(charset.name)")
        let html = try prepared(.text(text, in: charset, as: .html))
        #expect(html.header[.contentType] == "text/html; charset=\(charset.name)")
    }

    @Test("a character that the charset cannot represent is a typed error")
    func unencodableText() {
        for (charset, text) in [(BodyProvider.Charset.ascii, "é"), (.latin1, "€")] {
            let error = #expect(throws: RequestError.self) { try prepared(.text(text, in: charset)) }
            #expect(error?.reason == .bodyEncodingFailed)
            #expect(error?.underlying as? BodyProvider.BodyError == .textNotEncodable(charset))
        }
    }

    @Test("a file is sent by its path, with the content type of its extension", .rows("AF-31", "HT-36"))
    func file() throws {
        let request = try prepared(.file(at: URL(filePath: "/no/such/Photo.JPG"), range: 2..<4))
        #expect(request.header[.contentType] == "image/jpeg")
        guard case .file("/no/such/Photo.JPG", 2..<4) = request.body else { throw RequestError(.bodyEncodingFailed) }
        let named = try prepared(.file(at: URL(filePath: "/a b"), contentType: .png))
        #expect(named.header[.contentType] == "image/png")
    }

    @Test(
        "a URL that is not a file URL is a typed error", .rows("AF-32", "T-47"),
        arguments: ["http://e.com/a", "data:,a", "a"])
    func notAFile(text: String) throws {
        let url = try #require(URL(string: text))
        for body in [BodyProvider.file(at: url), .multipart([.file(at: url, name: "f")])] {
            let error = #expect(throws: RequestError.self) { try prepared(body) }
            #expect(error?.reason == .bodyEncodingFailed)
            #expect(error?.underlying as? BodyProvider.BodyError == .notAFileURL(scheme: url.scheme))
        }
    }

    @Test(
        "the usual type of a file follows from its extension in any case", .rows("HT-36", "AF-31"),
        arguments: [
            ("a.png", "image/png"), ("A.PNG", "image/png"), ("/x.txt/archive.tar.gz", "application/gzip"),
            ("noextension", "application/octet-stream"), ("x.", "application/octet-stream"),
            ("folder.png/file", "application/octet-stream"), ("a.unknown", "application/octet-stream"),
            ("", "application/octet-stream"), (".json", "application/json"), ("page.html", "text/html"),
        ])
    func mediaTypes(name: String, type: String) {
        #expect(MediaType(filename: name).rawValue == type)
    }

    @Test("a body in memory is compressed with a Content-Encoding field, and other bodies are rejected")
    func compressed() throws {
        let reversed: @Sendable (Data) -> Data = { Data($0.reversed()) }
        let request = try prepared(.text("abc").compressed(as: "x-reversed", reversed).compressed(as: "b", reversed))
        #expect(request.body.text == "abc")
        #expect(request.header[.contentEncoding] == "x-reversed, b")
        #expect(request.header[.contentType] == "text/plain; charset=utf-8")
        let none = try prepared(BodyProvider.none.compressed(as: "x", reversed))
        #expect(none.body.isNone && none.header[.contentEncoding] == nil)
        let error = #expect(throws: RequestError.self) {
            try prepared(BodyProvider.raw(body: .file(path: "/x")).compressed(as: "x", reversed))
        }
        #expect(error?.underlying as? BodyProvider.BodyError == .notInMemory)
    }

    @Test("the chunks of a stream come from a sequence made for each transmission")
    func stream() async throws {
        let body = BodyProvider.stream(length: 3, contentType: .png) {
            AsyncStream<Data> { continuation in
                continuation.yield(Data("a".utf8))
                continuation.yield(Data("bc".utf8))
                continuation.finish()
            }
        }
        let request = try prepared(body)
        #expect(request.body.knownLength == 3 && request.header[.contentType] == "image/png")
        #expect(try await request.body.collected().text == "abc")
        #expect(try await request.body.collected().text == "abc")
    }

    @Test(
        "GET and HEAD reject a body, also a multipart form", .rows("T-47", "AF-30"), arguments: [HTTPMethod.get, .head])
    func bodiless(method: HTTPMethod) {
        for body in [BodyProvider.multipart([.text("a", name: "b")]), .text("a"), .form(["a": 1])] {
            expectInvalid(.bodyNotAllowed) {
                try api.request(to: "/x" as RequestPath, using: method).sending(body).prepared()
            }
        }
    }
}

extension RequestBody {
    /// The bytes of a body in memory, or nil.
    var bytes: Data? {
        if case .bytes(let data) = self { data } else { nil }
    }
}
