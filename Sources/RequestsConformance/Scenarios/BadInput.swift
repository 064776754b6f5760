extension Scenario {
    /// Every control byte but HTAB, which a field value may hold.
    private static let controls =
        (0..<0x20).filter { $0 != 0x09 }.map { String(Unicode.Scalar(UInt8($0))) } + ["\u{7F}", "\r\n", "\r\nX: y"]

    private static let malformed: [(String, InvalidRequest)] = [
        ("http://bücher.example/", .nonASCIIHost), ("http://a b/", .invalidHost), ("http://a:70000/", .malformedURL),
        ("http://[::1/", .invalidHost), ("//a.example/", .malformedURL), ("http://a/\u{1}", .controlByteInPath),
    ]

    static let badInput: [Scenario] = [
        Scenario(
            name: "a control byte in a value is refused, whichever way it came into the header", rows: ["R-1", "L10"],
            group: .badInput
        ) { context in
            try await context.run { client in
                for control in controls {
                    for value in ["a\(control)b", "\(control)a", "a\(control)"] {
                        for request in requests(with: value, to: client) {
                            let error = try await expectFailure(
                                .invalidRequest(.invalidFieldValue), context: value.debugDescription
                            ) {
                                try await client.client.perform(request)
                            }
                            try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                        }
                        var raw = try client.request()
                        raw.header.set(Field(name: "X-Odd", value: value))
                        try await expectFailure(.invalidRequest(.invalidFieldValue)) { try await client.send(raw) }
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "a name that is no token is refused", rows: ["R-1"], group: .badInput) { context in
            try await context.run { client in
                for name in controls.map({ "X\($0)Y" }) + ["", "X Y", "X:", "X\tY", "Ü", "X(", "X\"", "{X}"] {
                    let field = Field(name: Field.Name(name), value: "a")
                    try await expectFailure(.invalidRequest(.invalidFieldName), context: name.debugDescription) {
                        try await client.send(try client.request(header: [field]))
                    }
                    try await expectFailure(.invalidRequest(.invalidFieldName), context: name.debugDescription) {
                        try await client.client.perform(
                            client.client.api.get(.none, from: "/").setting(headerField: field))
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "the port 0 is refused, and nothing is dialled", rows: ["R-4"], group: .badInput) { context in
            try await context.run { client in
                for text in ["http://127.0.0.1:0/", "http://localhost:0", "http://[::1]:0/x?y"] {
                    let request = PreparedRequest(target: try TargetURI(text))
                    let error = try await expectFailure(.invalidRequest(.invalidPort), context: text) {
                        try await client.send(request)
                    }
                    try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                    let api = Probe(baseURL: try need("a URL", URL(string: text)))
                    try await expectFailure(.invalidRequest(.invalidPort), context: "\(text), described") {
                        try await client.executor.perform(api.get(.none, from: "/"))
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "a method that is no token is refused", rows: ["R-2", "L11"], group: .badInput) { context in
            try await context.run { client in
                let methods =
                    controls.map { "GE\($0)T" } + ["", "GET ", "GET /x HTTP/1.1\r\nX: y\r\n\r\nGET", "GE/T", "Ü"]
                for method in methods {
                    try await expectFailure(.invalidRequest(.invalidMethod), context: method.debugDescription) {
                        try await client.send(try client.request(HTTPMethod(method)))
                    }
                }
                try await expectFailure(.invalidRequest(.unsupportedMethod)) {
                    try await client.send(try client.request(.connect))
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "a path with a control byte, a query or a fragment is refused", rows: ["R-2"], group: .badInput)
        { context in
            try await context.run { client in
                let api = client.client.api
                for control in controls + ["\t"] {
                    // A text of its own: interpolated into a path, the byte would be data, and escaped.
                    let path = "/a" + control + "b"
                    try await expectFailure(.invalidRequest(.controlByteInPath), context: control.debugDescription) {
                        try await client.client.perform(api.get(.none, from: RequestPath(path)))
                    }
                }
                for (path, reason) in [("/a?b=c", InvalidRequest.queryInPath), ("/a#b", .fragmentInPath)] {
                    try await expectFailure(.invalidRequest(reason)) {
                        try await client.client.perform(api.get(.none, from: RequestPath(path)))
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(
            name: "an interpolation that empties a segment or makes it a dot segment is refused", rows: ["R-2"],
            group: .badInput
        ) {
            context in
            try await context.run { client in
                let api = client.client.api
                let (empty, dot, dots) = ("", ".", "..")
                try await expectFailure(.invalidRequest(.emptySegment)) {
                    try await client.client.perform(api.get(.none, from: "/users/\(empty)/keys"))
                }
                for segment in [dot, dots] {
                    try await expectFailure(.invalidRequest(.dotSegment)) {
                        try await client.client.perform(api.get(.none, from: "/users/\(segment)/keys"))
                    }
                }
                try Self.expectNothingSent(client)
                _ = try await client.client.perform(api.get(.none, from: "/users/\("a/b?c#d e\r\n")"))
                try expect("the target", client.received.first?.target, is: "/users/a%2Fb%3Fc%23d%20e%0D%0A")
            }
        },
        Scenario(name: "a GET, HEAD or TRACE with a body is refused", rows: ["L4"], group: .badInput) { context in
            try await context.run { client in
                for method in [HTTPMethod.get, .head, .trace] {
                    for body in [RequestBody.bytes(Data("x".utf8)), Chunks.body("x")] {
                        try await expectFailure(.invalidRequest(.bodyNotAllowed)) {
                            try await client.send(try client.request(method, body: body))
                        }
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(
            name: "a base URL that cannot be asked is refused, each for its reason", rows: ["R-4", "L4", "L12"],
            group: .badInput
        ) { context in
            let table: [(String, [InvalidRequest])] = [
                ("relative/path", [.malformedURL]), ("mailto:a@b.example", [.malformedURL]),
                ("http:///path", [.malformedURL, .invalidHost]),
                ("http://a%2Fb.example/", [.invalidHost]), ("http://b%C3%BCcher.example/", [.nonASCIIHost]),
            ]
            for (text, reasons) in table {
                guard let url = URL(string: text) else { continue }
                let client = Client(Probe(baseURL: url), executor: context.executor())
                do throws(RequestError) {
                    try await client.perform(client.api.get(.none, from: "/"))
                    throw RequestError(.other, detail: "nothing was refused")
                } catch {
                    let isExpected = reasons.contains { error.reason == .invalidRequest($0) }
                    try expect(isExpected, "\(text) is refused for \(reasons): \(error)")
                    try expect(!error.mayHaveReachedServer || error.reason == .other, "nothing has reached a server")
                }
            }
            for (text, reason) in malformed {
                let result = Result { () throws(InvalidRequest) in try TargetURI(text) }
                guard case .failure(let problem) = result else { throw ConformanceFailure("\(text) is accepted") }
                try expect("the problem of \(text)", problem, is: reason)
            }
        },
        Scenario(name: "a body provider that throws is a body that is not encoded", rows: ["T-18"], group: .badInput) {
            context in
            try await context.run { client in
                let provider = BodyProvider { header in
                    header.set(.contentType(.json))
                    throw Chunks.Broken()
                }
                let error = try await expectFailure(.bodyNotEncoded) {
                    try await client.client.perform(client.client.api.post(provider, to: "/"))
                }
                try expect(error.underlying is Chunks.Broken, "the provider's error is underneath")
                try expect("the response", error.response, is: nil)
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "the userinfo of a URL is neither sent as part of it nor shown", rows: ["R-8"], group: .badInput)
        { context in
            try await context.run(serving: MockExecutor(.status(500))) { client in
                let text = client.baseURL.absoluteString.replacing("http://", with: "http://user:hidden@")
                let base = try need("the URL with userinfo", URL(string: text))
                let api = Client(Probe(baseURL: base), executor: client.executor)
                let error = try await expectFailure(.unacceptableStatus) {
                    try await api.perform(api.api.get(.none, from: "/x"))
                }
                let received = try need("the request", client.received.first)
                try expect("the target", received.target, is: "/x")
                try expect(!"\(received.header[.host] ?? "")".contains("hidden"), "Host is free of it")
                for shown in ["\(error)", String(reflecting: error), "\(error.request.map { "\($0)" } ?? "")"] {
                    try expect(!shown.contains("hidden"), "it is not shown: \(shown)")
                }
            }
        },
    ]

    /// Requests that carry `value` in their header, each by another way.
    private static func requests(with value: String, to client: ScenarioClient) -> [Request<Probe, Void>] {
        let api = client.client.api
        let field = Field(name: "X-Odd", value: value)
        let provider = BodyProvider { header in
            header.add(field)
            return .bytes(Data("x".utf8))
        }
        return [
            api.get(.none, from: "/").adding(headerField: field), api.get(.none, from: "/").setting(headerField: field),
            api.get(.none, from: "/").with(header: [field]), api.get(.none, from: "/").adding(headerFields: [field]),
            api.post(provider, to: "/"), api.get(.none, from: "/").authenticated(with: .bearerToken(value)),
            api.get(.none, from: "/").authenticated(with: AuthenticationProvider { $0.add(field) }),
        ]
    }

    private static func expectNothingSent(_ client: ScenarioClient) throws {
        try expect("requests", client.received.count, is: 0)
        try expect("bytes", client.server?.record.receivedBytes ?? 0, is: 0)
    }
}
