import Requests
import TestSupport
import Testing

/// A small API whose endpoints are compared with their wire text.
private enum Shop: String, RequestProviding {
    case live
    var baseURL: URL { URL("https://shop.example/v1?lang=en") }
    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Shop, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method)
            .adding(headerField: Field(name: "X-Api-Key", value: "hunter2"))
    }
}

private struct Item: Codable, Sendable {
    var name: String
    var price: Int
}

private enum ShopCall: String, CaseIterable, Endpoint, CustomTestStringConvertible {
    case list, find, add, replace, tag, remove, check, login, upload, ping

    func request(from api: Shop) -> Request<Shop, Data> {
        switch self {
        case .list: api.get(.data, from: "/items").with(query: ["page": 2, "tags[]": "a b", "q": nil])
        case .find: api.get(.data, from: "/items/\("a/b ü")").adding(headerField: .accept([.json]))
        case .add: api.post(.json(Item(name: "é/", price: 3)), to: "/items", receiving: .data)
        case .replace: api.put(.text("x\r\ny"), to: "/items/7", receiving: .data)
        case .tag: api.patch("/items/7", with: .form(["a": "1 2", "b": nil]), receiving: .data)
        case .remove: api.delete("/items/7").receiving(.data).authenticated(with: .bearerToken("hunter2"))
        case .check: api.head("/items/7").receiving(.data)
        case .login:
            api.post(.raw(data: Data([0, 1, 2])), to: "/login", receiving: .data).adding(
                queryItem: ("token", "hunter2"))
        case .upload:
            api.post(
                .multipart([.text("Hi", name: "m")], boundary: "B"), to: "/files", receiving: .data)
        case .ping: api.request(to: "/ping", using: .options).receiving(.data)
        }
    }

    var testDescription: String { rawValue }

    /// The method and target, and the wire text after Host and the API key, which all requests share.
    var golden: (line: String, remainder: String) {
        switch self {
        case .list: ("GET /v1/items?lang=en&page=2&tags%5B%5D=a%20b&q", "\n")
        case .find: ("GET /v1/items/a%2Fb%20%C3%BC?lang=en", "Accept: application/json\n\n")
        case .add:
            (
                "POST /v1/items?lang=en",
                "Content-Type: application/json\nContent-Length: 24\n\n{\"name\":\"é/\",\"price\":3}"
            )
        case .replace:
            (
                "PUT /v1/items/7?lang=en",
                "Content-Type: text/plain; charset=utf-8\nContent-Length: 4\n\nx\r\ny"
            )
        case .tag:
            (
                "PATCH /v1/items/7?lang=en",
                "Content-Type: application/x-www-form-urlencoded\nContent-Length: 9\n\na=1%202&b"
            )
        case .remove: ("DELETE /v1/items/7?lang=en", "Authorization: <redacted>\n\n")
        case .check: ("HEAD /v1/items/7?lang=en", "\n")
        case .login:
            (
                "POST /v1/login?lang=en&token=<redacted>",
                "Content-Type: application/octet-stream\nContent-Length: 3\n\n\0\u{1}\u{2}"
            )
        case .upload:
            (
                "POST /v1/files?lang=en",
                "Content-Type: multipart/form-data; boundary=B\nContent-Length: 101\n\n--B\r\n"
                    + "Content-Disposition: form-data; name=\"m\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n"
                    + "Hi\r\n--B--\r\n"
            )
        case .ping: ("OPTIONS /v1/ping?lang=en", "\n")
        }
    }
}

@Suite("Wire texts")
struct WireTextTests {
    @Test("every endpoint of an API has its expected wire text", arguments: ShopCall.allCases)
    private func golden(call: ShopCall) throws {
        let (line, remainder) = call.golden
        let text = try call.request(from: .live).prepared().wireText
        #expect(text == "\(line) HTTP/1.1\nHost: shop.example\nX-Api-Key: <redacted>\n\(remainder)")
    }

    @Test(
        "several Cookie fields are one in the wire text and in the curl command, also if they are redacted",
        .rows("T-85"))
    func cookies() throws {
        let header: Header = [
            Field(name: "A", value: "1"), Field(name: "cookie", value: "a=1"), Field(name: "B", value: "2"),
            Field(name: .cookie, value: "b=2; c=3"), Field(name: .cookie, value: ""),
        ]
        let request = PreparedRequest(target: try TargetURI("http://a.example/"), header: header)
        #expect(
            request.wireText(secrets: .revealed)
                == "GET / HTTP/1.1\nHost: a.example\nA: 1\ncookie: a=1; b=2; c=3\nB: 2\n\n")
        #expect(
            request.wireText
                == "GET / HTTP/1.1\nHost: a.example\nA: 1\ncookie: \(Redaction.placeholder)\nB: 2\n\n")
        #expect(request.curlCommand(secrets: .revealed).contains("--header 'cookie: a=1; b=2; c=3'"))
        #expect(!request.curlCommand(secrets: .revealed).contains("Cookie"))
        // The header itself is unchanged.
        #expect(request.header == header)
    }

    @Test("the wire text is the same each time and contains secrets only if they are revealed")
    func deterministic() throws {
        for call in ShopCall.allCases {
            let request = call.request(from: .live)
            #expect(try request.prepared().wireText == request.prepared().wireText)
            #expect(try !request.prepared().wireText.contains("hunter2"))
            #expect(try request.prepared().wireText(secrets: .revealed).contains("X-Api-Key: hunter2"))
        }
    }
}
