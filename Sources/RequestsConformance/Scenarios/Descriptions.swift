extension Scenario {
    /// An executor whose response depends on the path of the request.
    private static let responses = MockExecutor { request in
        switch request.target.path {
        case "/json": MockResponse(header: type("application/json"), body: body)
        case "/text-json": MockResponse(header: type("text/json"), body: body)
        case "/html": MockResponse(header: type("text/html"), body: body)
        case "/untyped": MockResponse(body: body)
        case "/nothing": MockResponse(status: 204, header: type("text/html"))
        case "/failed": MockResponse(status: 500, header: type("application/json"), body: body)
        case "/missing": MockResponse(status: 404, header: type("application/json"), body: body)
        case "/failed-text": MockResponse(status: 500, header: type("text/plain"), body: body)
        case "/failed-cut": MockResponse(status: 500, header: type("application/json"), body: [.bytes(Data("{".utf8))])
        case "/cut": MockResponse(header: type("application/json"), body: [.bytes(Data("{\"a\": [1,".utf8))])
        case "/wrong": MockResponse(header: type("application/json"), body: [.bytes(Data("{nope}".utf8))])
        default: .ok()
        }
    }

    private static let body: [MockResponse.BodyEvent] = [.bytes(Data("{\"error\":1}".utf8))]

    private static func type(_ text: String) -> Header { [Field(name: .contentType, value: text)] }

    static let descriptions: [Scenario] = [
        Scenario(
            name: "only a response of an accepted content type is decoded",
            rows: ["T-33", "T-34", "PM-61", "PM-66"], group: .descriptions
        ) { context in
            try await context.run(serving: responses) { client in
                let api = client.client.api
                for path in ["/json", "/text-json", "/untyped"] {
                    let value = try await client.executor.value(
                        api.get(.json([String: Int].self), from: RequestPath(path)))
                    try expect("the value of \(path)", value, is: ["error": 1])
                }
                let rejected = try await expectFailure(.unexpectedContentType) {
                    try await client.executor.value(api.get(.json([String: Int].self), from: "/html"))
                }
                try expect("the body of the rejected response", rejected.body, is: Data("{\"error\":1}".utf8))
                try await expectFailure(.unexpectedNoContent) {
                    try await client.executor.value(api.get(.json([String: Int].self), from: "/nothing"))
                }
                let action = try await client.executor.value(
                    api.post(.none, to: "/nothing", receiving: .action(.json([String: Int].self))))
                try expect("the action's value", action.value, is: nil)
                try expect("the action's status", action.head.status, is: 204)
            }
        },
        Scenario(
            name: "a resource of Void accepts any body, and the validator decides whether a 404 is an error",
            rows: ["T-15", "T-17"], group: .descriptions
        ) { context in
            try await context.run(serving: responses) { client in
                struct ValidationFailure: Error {}
                let api = client.client.api
                let decoder = ResponseDecoder<Void> { (_: ResponseHead, _: Data) in
                    throw ConformanceFailure("the decoder of Void was called")
                }
                for path in ["/empty", "/json", "/nothing"] {
                    try await client.executor.value(api.get(decoder, from: RequestPath(path)))
                }
                let request = api.get(.json([String: Int].self), from: "/missing")
                let value = try await client.executor.value(request.validating(.none))
                try expect("the value", value, is: ["error": 1])
                let rejecting = request.validating(ResponseValidator { _ in false })
                let rejected = try await expectFailure(.unacceptableStatus) {
                    try await client.executor.value(rejecting)
                }
                try expect("the status", rejected.status, is: 404)
                let throwing = request.validating(ResponseValidator { _ in throw ValidationFailure() })
                let thrown = try await expectFailure(.unacceptableStatus) { try await client.executor.value(throwing) }
                try expect(thrown.underlying is ValidationFailure, "the validator's error is the underlying error")
            }
        },
        Scenario(
            name: "an error contains its body, and its JSON if the content type is JSON",
            rows: ["T-35", "T-58", "PM-70"],
            group: .descriptions
        ) { context in
            try await context.run(serving: responses) { client in
                let api = client.client.api
                for (path, assumed, json) in [
                    ("/failed", false, ["error": 1] as JSONValue?), ("/failed-text", false, nil),
                    ("/failed-text", true, ["error": 1]), ("/failed-cut", false, nil),
                ] {
                    var request = api.get(.data, from: RequestPath(path))
                    if assumed { request = request.assumingErrorsAreJSON() }
                    let described = request
                    let error = try await expectFailure(.unacceptableStatus, context: path) {
                        try await client.executor.value(described)
                    }
                    try expect("the JSON of \(path)", error.bodyJSON, is: json)
                    try expect(error.body?.isEmpty == false, "the error of \(path) has a body")
                }
                for (path, isTruncated) in [("/cut", true), ("/wrong", false)] {
                    var attempts = 0
                    repeat {
                        attempts += 1
                        let error = try await expectFailure(.decodingFailed, context: path) {
                            try await client.executor.value(api.get(.jsonValue, from: RequestPath(path)))
                        }
                        try expect("whether the JSON of \(path) is truncated", error.isJSONTruncated, is: isTruncated)
                        guard error.isJSONTruncated else { break }
                    } while attempts < 2
                    let count = client.received.filter { $0.target == path }.count
                    try expect("the number of requests for \(path)", count, is: isTruncated ? 2 : 1)
                }
            }
        },
        Scenario(
            name: "the endpoints and defaults of an environment are sent below its base URL, and only there",
            rows: ["T-39", "T-40", "T-41", "PM-9"], group: .descriptions
        ) { context in
            try await context.run { client in
                let base = client.baseURL.absoluteString
                let root = base.hasSuffix("/") ? String(base.dropLast()) : base
                var environment = try need("an environment", RequestEnvironment(string: root + "/api/v1/"))
                environment.joining = .resolve
                environment.authenticationProvider = .bearerToken("secret")
                for path in ["/foo", "foo", "foo/", "/", ""] {
                    _ = try await client.executor.value(environment.get(.data, from: RequestPath(path)))
                }
                _ = try await client.executor.value(environment.get(.data, from: "x").withoutDefaultAuthentication())
                try expect(
                    "targets", client.received.map(\.target),
                    is: ["/foo", "/api/v1/foo", "/api/v1/foo/", "/", "/api/v1/", "/api/v1/x"])
                try expect(
                    "credentials", client.received.map { $0.header[.authorization] },
                    is: [nil, "Bearer secret", "Bearer secret", nil, "Bearer secret", nil])
                let other = try need("another environment", RequestEnvironment(string: root + "/other/"))
                async let first = client.executor.value(environment.get(.text, from: "one"))
                async let second = client.executor.value(other.get(.text, from: "two"))
                _ = try await (first, second)
                try expect(
                    "both at once",
                    Set(client.received.suffix(2).map { "\($0.target) \($0.header[.authorization] ?? "-")" }),
                    is: ["/api/v1/one Bearer secret", "/other/two -"])
                let bare = try need("an environment without a path", RequestEnvironment(string: root))
                _ = try await client.executor.value(bare.get(.data, from: ""))
                try expect("the target without a path", client.received.last?.target, is: "/")
            }
        },
        Scenario(
            name: "JSON and query parameters of one request are sent separately",
            rows: ["T-79", "T-81", "HT-13", "HT-21"],
            group: .descriptions
        ) { context in
            try await context.run { client in
                let api = client.client.api
                let request = api.post(.none, to: "/x").adding(parameters: ["name": "n"], in: .json)
                    .adding(parameters: ["dob": "d"], in: .json).adding(parameters: ["age": 5], in: .query)
                _ = try await client.executor.value(request)
                try expect("the target", client.received.last?.target, is: "/x?age=5")
                try expect("the body", client.received.last?.body, is: Data(#"{"dob":"d","name":"n"}"#.utf8))
                let upload = api.post(.raw(data: Data("x".utf8)), to: "/y").adding(parameters: ["j": 1], in: .json)
                    .adding(parameters: ["p": 1], in: .propertyList).adding(parameters: ["u": 2], in: .query)
                _ = try await client.executor.value(upload)
                try expect("the upload's target", client.received.last?.target, is: "/y?u=2")
                try expect("the upload's body", client.received.last?.body, is: Data("x".utf8))
                let part = MultipartForm.Part.data(Data("x".utf8), name: "file", filename: "f.bin")
                let form = api.post(.multipart([part], boundary: "B"), to: "/z").adding(parameters: ["j": 1], in: .json)
                    .adding(parameters: ["p": 1], in: .propertyList)
                _ = try await client.executor.value(form)
                let text = String(decoding: client.received.last?.body ?? Data(), as: UTF8.self)
                try expect(
                    "the names in the form", text.split(separator: "; name=").dropFirst().map { $0.prefix(3) },
                    is: [#""fi"#, #""p""#])
            }
        },
        Scenario(
            name: "names and values with special characters are encoded alike in a query and in a form",
            rows: ["T-20", "T-42", "PM-43"],
            group: .descriptions
        ) { context in
            try await context.run { client in
                let api = client.client.api
                let parameters: RequestParameters = [
                    "foo": "bar", "key": "value + space", " +&=": " +&=", "*-.azAZ09_": "*-.azAZ09_", "!@?;~": "%",
                ]
                let text =
                    "foo=bar&key=value%20%2B%20space&%20%2B%26%3D=%20%2B%26%3D&*-.azAZ09_=*-.azAZ09_&%21%40%3F%3B%7E=%25"
                for method in [HTTPMethod.get, .post] {
                    let request = api.request(to: "/x" as RequestPath, using: method)
                    _ = try await client.executor.value(request.adding(parameters: parameters))
                }
                try expect("the query", client.received.first?.target, is: "/x?" + text)
                try expect("the target of the form", client.received.last?.target, is: "/x")
                try expect("the form", client.received.last?.body, is: Data(text.utf8))
                _ = try await client.executor.value(
                    api.post(.multipart([.text("Hello world", name: "message")], boundary: "B"), to: "/x"))
                try expect("the bytes of a form", client.received.last?.body.count, is: 116)
            }
        },
        Scenario(
            name: "a request that requires Content-Length has it, whatever its body",
            rows: ["T-49", "PM-26", "PM-45", "PM-47"], group: .descriptions, needs: .server, isForHTTP1: true
        ) { context in
            try await context.run { client in
                let api = client.client.api
                @Sendable func chunks() -> AsyncStream<Data> {
                    AsyncStream { continuation in
                        continuation.yield(Data("a".utf8))
                        continuation.yield(Data("bc".utf8))
                        continuation.finish()
                    }
                }
                let deferred = BodyProvider.multipart([.deferred { [.text("v", name: "k")] }], boundary: "B")
                for body in [.json(["a": 1]), deferred, .stream { chunks() }] {
                    let plain = api.post(body, to: "/x")
                    for request in [plain, plain.with(options: RequestOptions(requiresContentLength: true))] {
                        _ = try await client.executor.value(request)
                    }
                    let both = Array(client.received.suffix(2))
                    try expect("both bodies", both.first?.body, is: both.last?.body)
                    let withLength = try need("the second request", both.last)
                    try expect("the length", withLength.header[.contentLength], is: "\(withLength.body.count)")
                }
                for request in client.received {
                    let fields = [Field.Name.contentLength, .transferEncoding].filter(request.header.contains)
                    try expect("framing fields", fields.count, is: 1)
                }
            }
        },
        Scenario(
            name: "empty forms, empty parts and large parts arrive complete", rows: ["T-45"],
            group: .descriptions
        ) { context in
            try await context.run { client in
                let api = client.client.api
                let large = Data((0..<4 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7) })
                let forms: [[MultipartForm.Part]] = [
                    [], [.deferred { [] }], [.text("", name: "empty")], [.data(large, name: "large")],
                ]
                for parts in forms {
                    _ = try await client.executor.value(api.post(.multipart(parts, boundary: "a-boundary"), to: "/x"))
                }
                let bodies = client.received.map(\.body)
                try expect(
                    "the empty forms", bodies.prefix(2).map { String(decoding: $0, as: UTF8.self) },
                    is: ["--a-boundary--\r\n", "--a-boundary--\r\n"])
                let empty = String(decoding: bodies[2], as: UTF8.self)
                try expect(
                    empty.hasSuffix("\r\n\r\n\r\n--a-boundary--\r\n"), "the form contains the empty part: \(empty)")
                let end = Data("\r\n--a-boundary--\r\n".utf8)
                try expect(bodies[3].suffix(end.count) == end, "the large form has its closing boundary")
                try expect(
                    bodies[3].dropLast(end.count).suffix(large.count) == large, "the form contains the large part")
            }
        },
        Scenario(
            name: "an invalid description is a typed error, and nothing is sent",
            rows: ["T-29", "T-47", "T-75", "AF-19", "AF-30", "AF-32"], group: .descriptions
        ) { context in
            try await context.run { client in
                struct EncodingFailure: Error {}
                let api = client.client.api
                let web = URL("http://example.com/file")
                let missing = URL(filePath: "/nowhere/there")
                let encoding: [BodyProvider] = [
                    .json(["a": Double.nan]), .propertyList(5), .text("é", in: .ascii), .file(at: web),
                    .multipart([.file(at: web, name: "f")]), .multipart([.text("a", name: "b")], boundary: ""),
                    .multipart([.text("a", name: "b").adding(headerField: Field(name: "X", value: "a\r\nb"))]),
                    .multipart([.text("a", name: "b").adding(headerField: Field(name: "a b", value: ""))]),
                    .multipart([.text("--B", name: "b")], boundary: "B"), BodyProvider { _ in throw EncodingFailure() },
                ]
                for body in encoding {
                    try await expectFailure(.bodyEncodingFailed) {
                        try await client.executor.value(api.post(body, to: "/x"))
                    }
                }
                for body in [BodyProvider.file(at: missing), .multipart([.file(at: missing, name: "f")])] {
                    let error = try await expectFailure(.fileAccessFailed) {
                        try await client.executor.value(api.post(body, to: "/x"))
                    }
                    try expect(!error.mayHaveReachedServer, "a missing file sends nothing")
                }
                for method in [HTTPMethod.get, .head] {
                    let request = api.request(to: "/x" as RequestPath, using: method)
                        .sending(.multipart([.text("a", name: "b")]))
                    try await expectFailure(.invalidRequest(.bodyNotAllowed)) {
                        try await client.executor.value(request)
                    }
                }
                let failing = RequestParameters.Format.custom { _ in throw EncodingFailure() }
                let query = api.get(.data, from: "/x").adding(parameters: ["a": 1], in: .query(failing))
                let error = try await expectFailure(.invalidRequest(.parametersNotEncoded)) {
                    try await client.executor.value(query)
                }
                try expect(
                    error.underlying is EncodingFailure, "the function's error is the underlying error: \(error)")
                try expect("requests", client.received.count, is: 0)
            }
        },
    ]
}

extension RequestExecutor {
    /// Performs `request` and returns its value, for an executor of any type.
    fileprivate func value<R: RequestConvertible>(_ request: R) async throws(RequestError) -> R.Resource {
        try await perform(request)
    }
}
