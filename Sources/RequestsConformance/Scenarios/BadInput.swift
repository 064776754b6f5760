extension Scenario {
    /// All control characters except HTAB, which a field value may contain.
    private static let controls =
        (0..<0x20).filter { $0 != 0x09 }.map { String(Unicode.Scalar(UInt8($0))) } + ["\u{7F}", "\r\n", "\r\nX: y"]

    private static let malformed: [(String, RequestError.InvalidRequest)] = [
        ("http://bücher.example/", .nonASCIIHost), ("http://a b/", .invalidHost), ("http://a:70000/", .malformedURL),
        ("http://[::1/", .invalidHost), ("//a.example/", .malformedURL), ("http://a/\u{1}", .controlCharacterInPath),
    ]

    static let badInput: [Scenario] = [
        Scenario(
            name: "a control character in a field value is rejected, however the field is set", rows: ["R-1", "L10"],
            group: .badInput
        ) { context in
            try await context.run { client in
                for control in controls {
                    for value in ["a\(control)b", "\(control)a", "a\(control)"] {
                        let bearer = client.client.api.get(.none, from: "/").authenticated(with: .bearerToken(value))
                        let all =
                            requests(with: value, to: client).map {
                                ($0, RequestError.InvalidRequest.invalidFieldValue)
                            }
                            + [(bearer, .invalidBearerToken)]
                        for (request, problem) in all {
                            let error = try await expectFailure(
                                .invalidRequest(problem), context: value.debugDescription
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
        Scenario(name: "a field name that is not a token is rejected", rows: ["R-1"], group: .badInput) { context in
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
        Scenario(name: "port 0 is rejected, and no connection is opened", rows: ["R-4"], group: .badInput) { context in
            try await context.run { client in
                for text in ["http://127.0.0.1:0/", "http://localhost:0", "http://[::1]:0/x?y"] {
                    let request = PreparedRequest(target: try TargetURI(text))
                    let error = try await expectFailure(.invalidRequest(.invalidPort), context: text) {
                        try await client.send(request)
                    }
                    try expect(!error.mayHaveReachedServer, "nothing has reached the server")
                    let api = Probe(baseURL: try need("a URL", URL(string: text)))
                    try await expectFailure(.invalidRequest(.invalidPort), context: "\(text), as a base URL") {
                        try await client.executor.perform(api.get(.none, from: "/"))
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "a method that is not a token is rejected", rows: ["R-2", "L11"], group: .badInput) { context in
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
        Scenario(
            name: "a path with a control character, a query or a fragment is rejected", rows: ["R-2"], group: .badInput
        ) { context in
            try await context.run { client in
                let api = client.client.api
                for control in controls + ["\t"] {
                    // A separate string: a byte that is interpolated into a path is data, and would be escaped.
                    let path = "/a" + control + "b"
                    try await expectFailure(.invalidRequest(.controlCharacterInPath), context: control.debugDescription)
                    {
                        try await client.client.perform(api.get(.none, from: RequestPath(path)))
                    }
                }
                for (path, reason) in [("/a?b=c", RequestError.InvalidRequest.queryInPath), ("/a#b", .fragmentInPath)] {
                    try await expectFailure(.invalidRequest(reason)) {
                        try await client.client.perform(api.get(.none, from: RequestPath(path)))
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(
            name: "an interpolation that results in an empty segment or a dot segment is rejected", rows: ["R-2"],
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
        Scenario(name: "a GET, HEAD or TRACE request with a body is rejected", rows: ["L4"], group: .badInput) {
            context in
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
            name: "a GET or HEAD body that the request allows is sent, and a TRACE body never is", rows: ["L4"],
            group: .badInput
        ) { context in
            try await context.run { client in
                for method in [HTTPMethod.trace, .get, .head] {
                    for body in [RequestBody.bytes(Data("hello".utf8)), Chunks.body("he", "llo")] {
                        var request = try client.request(method, body: body)
                        request.allowsBody = true
                        guard method != .trace else {
                            try await expectFailure(.invalidRequest(.bodyNotAllowed)) { try await client.send(request) }
                            try Self.expectNothingSent(client)
                            continue
                        }
                        try expect("the status", try await client.send(request).head.status, is: 200)
                        let received = try need("the request", client.received.last)
                        try expect("the method", received.method, is: method)
                        try expect("the body", received.body, is: Data("hello".utf8))
                    }
                }
                try expect("requests", client.received.count, is: 4)
            }
        },
        Scenario(name: "OPTIONS for “*” is rejected and never sent as a path", rows: ["L4"], group: .badInput) {
            context in
            try await context.run { client in
                let api = client.client.api
                for path in ["*", "/*"] as [RequestPath] {
                    try await expectFailure(.invalidRequest(.asteriskNotSupported)) {
                        try await client.client.perform(api.request(to: path, using: .options))
                    }
                }
                try Self.expectNothingSent(client)
            }
        },
        Scenario(
            name: "an invalid base URL is rejected with its reason", rows: ["R-4", "L4", "L12"],
            group: .badInput
        ) { context in
            let table: [(String, [RequestError.InvalidRequest])] = [
                ("relative/path", [.malformedURL]), ("mailto:a@b.example", [.malformedURL]),
                ("http:///path", [.malformedURL, .invalidHost]),
                ("http://a%2Fb.example/", [.invalidHost]), ("http://b%C3%BCcher.example/", [.nonASCIIHost]),
            ]
            for (text, reasons) in table {
                guard let url = URL(string: text) else { continue }
                let client = Client(Probe(baseURL: url), executor: context.executor())
                do throws(RequestError) {
                    try await client.perform(client.api.get(.none, from: "/"))
                    throw RequestError(.other, detail: "expected an error, but the request was accepted")
                } catch {
                    let isExpected = reasons.contains { error.reason == .invalidRequest($0) }
                    try expect(isExpected, "\(text) is rejected for one of \(reasons): \(error)")
                    try expect(!error.mayHaveReachedServer || error.reason == .other, "nothing has reached a server")
                }
            }
            for (text, reason) in malformed {
                let result = Result { () throws(RequestError.InvalidRequest) in try TargetURI(text) }
                guard case .failure(let problem) = result else {
                    throw ConformanceFailure("expected an error, but \(text) was accepted")
                }
                try expect("the problem of \(text)", problem, is: reason)
            }
        },
        Scenario(name: "a body provider that throws is a body encoding failure", rows: ["T-18"], group: .badInput) {
            context in
            try await context.run { client in
                let provider = BodyProvider { header in
                    header.set(.contentType(.json))
                    throw Chunks.SourceError()
                }
                let error = try await expectFailure(.bodyEncodingFailed) {
                    try await client.client.perform(client.client.api.post(provider, to: "/"))
                }
                try expect(error.underlying is Chunks.SourceError, "the provider's error is the underlying error")
                try expect("the response", error.response, is: nil)
                try Self.expectNothingSent(client)
            }
        },
        Scenario(name: "the userinfo of a URL is neither sent in the target nor shown", rows: ["R-8"], group: .badInput)
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
                try expect(!"\(received.header[.host] ?? "")".contains("hidden"), "Host does not contain the userinfo")
                for shown in ["\(error)", String(reflecting: error), "\(error.request.map { "\($0)" } ?? "")"] {
                    try expect(!shown.contains("hidden"), "the userinfo is not shown: \(shown)")
                }
            }
        },
    ]

    /// Returns requests with `value` in their header, each set in a different way.
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
            api.post(provider, to: "/"),
            api.get(.none, from: "/").authenticated(with: AuthenticationProvider { $0.add(field) }),
        ]
    }

    private static func expectNothingSent(_ client: ScenarioClient) throws {
        try expect("requests", client.received.count, is: 0)
        try expect("bytes", client.server?.record.receivedBytes ?? 0, is: 0)
    }
}
