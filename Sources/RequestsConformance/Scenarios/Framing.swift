extension Scenario {
    static let framing: [Scenario] = [
        Scenario(
            name: "a response is returned whatever its status, and no redirect is followed", rows: ["T-86", "L1"],
            group: .framing
        ) {
            context in
            let mock = MockExecutor { request in
                let status = HTTPStatus(Int(request.target.path.dropFirst()) ?? 0)
                return .redirect(status, to: "/elsewhere").adding(
                    headerField: Field(name: .wwwAuthenticate, value: "Basic realm=a"))
            }
            try await context.run(serving: mock) { client in
                let statuses = [
                    200, 201, 206, 299, 300, 301, 302, 303, 307, 308, 400, 401, 404, 407, 418, 500, 503, 599,
                ]
                for status in statuses {
                    let response = try await client.send(try client.request(.get, "/\(status)"))
                    try expect("the status", response.head.status.code, is: status)
                }
                try expect("requests", client.received.map(\.target), is: statuses.map { "/\($0)" })
            }
            let challenge = Field(name: .wwwAuthenticate, value: "Basic realm=a")
            let refusal = MockResponse.status(401, "who?").adding(headerField: challenge)
            try await context.run(serving: MockExecutor(refusal)) { client in
                let response = try await client.send(try client.request())
                try expect("the status", response.head.status, is: 401)
                try expect("the body", String(decoding: try response.collected, as: UTF8.self), is: "who?")
            }
        },
        Scenario(
            name: "responses to HEAD and responses with status 204 or 304 have a header and no body", rows: ["R-19"],
            group: .framing
        ) {
            context in
            let mock = MockExecutor { request in
                let status = HTTPStatus(Int(request.target.path.dropFirst()) ?? 0)
                return .status(status, "body").adding(headerField: Field(name: .etag, value: "\"x\""))
            }
            try await context.run(serving: mock) { client in
                for (method, status) in [(HTTPMethod.head, 200), (.head, 404), (.get, 204), (.get, 304), (.head, 204)] {
                    let response = try await client.send(try client.request(method, "/\(status)"))
                    try expect("the status", response.head.status.code, is: status)
                    try expect("the body of \(method) \(status)", try response.collected, is: Data())
                    try expect("ETag", response.head.header[.etag], is: "\"x\"")
                }
                try expect("the text afterwards", try await client.text(try client.request(.get, "/200")), is: "body")
            }
        },
        Scenario(
            name: "a body is received by Content-Length, in chunks of any size, or until the connection closes",
            rows: ["R-18"],
            group: .framing
        ) { context in
            let text = String((0..<5000).map { Character(Unicode.Scalar(UInt8(97 + $0 % 26))) })
            let behaviors = [
                TestServer.Behavior.standard, TestServer.Behavior(framing: .chunked(sizes: [1, 2, 3, 4096])),
                TestServer.Behavior(framing: .untilClose),
                TestServer.Behavior(framing: .chunked(sizes: [1])), TestServer.Behavior(interim: [102, 103]),
                TestServer.Behavior(pace: .drip(997, every: .milliseconds(1))),
            ]
            for behavior in behaviors {
                try await context.run(serving: MockExecutor(.ok(text)), behaving: behavior) { client in
                    for delivery in [ResponseBody.Delivery.collected(limit: 5000), .streamed] {
                        let response = try await client.send(try client.request(delivery: delivery))
                        let body: Data
                        if case .streamed = delivery {
                            body = try await response.streamed.collect()
                        } else {
                            body = try response.collected
                        }
                        try expect("the body of \(behavior)", String(decoding: body, as: UTF8.self), is: text)
                        try expect("the status of \(behavior)", response.head.status, is: 200)
                    }
                }
            }
        },
        Scenario(name: "an empty body is empty whatever its framing", rows: ["R-54"], group: .framing) { context in
            for behavior in [
                TestServer.Behavior.standard, TestServer.Behavior(framing: .chunked(sizes: [])),
                TestServer.Behavior(framing: .untilClose),
            ] {
                try await context.run(serving: MockExecutor(.ok()), behaving: behavior) { client in
                    try expect("the body", try await client.bytes(try client.request()), is: Data())
                    let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                    try expect("the first chunk", try await stream.next(), is: nil)
                    try expect("the second chunk", try await stream.next(), is: nil)
                }
            }
        },
        Scenario(
            name: "trailers are available after the body, and never in the header", rows: ["R-14"],
            group: .framing
        ) {
            context in
            let mock = MockExecutor(
                MockResponse(body: [.bytes(Data("abc".utf8))], trailers: [Field(name: "X-Sum", value: "3")]))
            try await context.run(serving: mock) { client in
                let response = try await client.send(try client.request())
                try expect("the body", try response.collected, is: Data("abc".utf8))
                try expect("the trailer", response.trailers["X-Sum"], is: "3")
                try expect("the header", response.head.header["X-Sum"], is: nil)
                let stream = try await client.send(try client.request(delivery: .streamed)).streamed
                try expect("the trailers before the end", stream.trailers, is: .empty)
                _ = try await stream.collect()
                try expect("the trailer at the end", stream.trailers["X-Sum"], is: "3")
            }
        },
        Scenario(name: "fields keep their order, repetitions and values", rows: ["L10"], group: .framing) {
            context in
            let fields = [
                Field(name: .setCookie, value: "a=1"), Field(name: "X-Odd", value: "x, y"),
                Field(name: .setCookie, value: "b=2; Expires=Wed, 21 Oct 2015 07:28:00 GMT"),
                Field(name: "x-odd", value: "\"z\""), Field(name: "X-Empty", value: ""),
            ]
            try await context.run(serving: MockExecutor(MockResponse(status: 204, header: Header(fields)))) { client in
                let header = try await client.send(try client.request()).head.header
                let received = header.filter { field in fields.contains { $0.name == field.name } }
                // HTTP/2 sends names in lower case (RFC 9113 §8.2.1).
                let names = fields.map { field in
                    context.subject.version == .http1 ? "\(field.name)" : "\(field.name)".lowercased()
                }
                try expect(
                    "the fields", received.map { "\($0.name): \($0.value)" },
                    is: zip(names, fields).map { "\($0): \($1.value)" })
            }
        },
        Scenario(
            name: "a request is sent with Host first, one Content-Length, and no added credentials or content fields",
            rows: ["R-3", "R-4", "L6"], group: .framing, needs: .server
        ) { context in
            try await context.run { client in
                let header: Header = [
                    Field(name: .contentLength, value: "3"), Field(name: .transferEncoding, value: "chunked"),
                    Field(name: .host, value: "evil.example"), Field(name: .connection, value: "close, X-Mine"),
                    Field(name: "X-Mine", value: "1"), Field(name: "X-Mine", value: "2"),
                ]
                _ = try await client.send(
                    try client.request(.post, "/a%20b?c=d&e", header: header, body: .bytes(Data("12345".utf8))))
                let received = try need("the request", client.received.first)
                try expect("the target", received.target, is: "/a%20b?c=d&e")
                try expect("the first field", received.header.first?.name, is: .host)
                try expect("Host", received.header.values(of: .host), is: [Self.authority(of: client)])
                try expect("Content-Length", received.header.values(of: .contentLength), is: ["5"])
                try expect("Transfer-Encoding", received.header[.transferEncoding], is: nil)
                try expect("X-Mine", received.header.values(of: "X-Mine"), is: ["1", "2"])
                for name: Field.Name in [.authorization, .cookie, .contentType, .expect] {
                    try expect("\(name)", received.header[name], is: nil)
                }
            }
        },
        Scenario(
            name: "several Cookie fields are sent as one", rows: ["T-85"], group: .framing, needs: .server
        ) { context in
            try await context.run { client in
                let header: Header = [
                    Field(name: .cookie, value: "a=1"), Field(name: "X-Mine", value: "1"),
                    Field(name: "cookie", value: "b=2; c=3"), Field(name: .cookie, value: "d=4"),
                ]
                _ = try await client.send(try client.request(header: header))
                let received = try need("the request", client.received.first)
                try expect("Cookie", received.header.values(of: .cookie), is: ["a=1; b=2; c=3; d=4"])
            }
        },
        Scenario(name: "methods are sent as spelled", rows: ["RQ-20", "L11"], group: .framing) { context in
            try await context.run { client in
                let methods: [HTTPMethod] = [.get, .delete, .options, .trace, .patch, "get", "Frob", "M-SEARCH"]
                for method in methods { _ = try await client.send(try client.request(method)) }
                try expect("the methods", client.received.map(\.method.rawValue), is: methods.map(\.rawValue))
            }
        },
        Scenario(name: "non-ASCII field values are preserved", rows: ["R-23"], group: .framing) { context in
            let field = Field(name: "X-Name", value: "gr\u{FC}\u{DF}e")
            try await context.run(serving: MockExecutor(MockResponse(status: 204, header: [field]))) { client in
                let received = try await client.send(try client.request()).head.header["X-Name"]
                try expect("the value", received, is: field.value)
            }
        },
        Scenario(
            name: "exchanges share no cookies, cached responses or credentials", rows: ["RQ-27"],
            group: .framing
        ) { context in
            let response = MockResponse.ok("fresh")
                .adding(headerField: Field(name: .setCookie, value: "a=b; Path=/"))
                .adding(headerField: Field(name: .cacheControl, value: "public, max-age=3600"))
                .adding(headerField: Field(name: .etag, value: "\"x\""))
            try await context.run(serving: MockExecutor(response)) { client in
                let header: Header = [Field(name: .authorization, value: "Bearer a")]
                _ = try await client.send(try client.request(.get, "/same", header: header))
                for _ in 0..<2 { _ = try await client.send(try client.request(.get, "/same")) }
                try expect("requests", client.received.count, is: 3)
                for received in client.received.dropFirst() {
                    for name: Field.Name in [.cookie, .authorization, .ifNoneMatch, .ifModifiedSince] {
                        try expect("\(name)", received.header[name], is: nil)
                    }
                }
            }
        },
        Scenario(name: "the header describes the delivered body, decoded or not", rows: ["RQ-27"], group: .framing) {
            context in
            // “hello, hello, hello” as gzip.
            let compressed = try need(
                "the compressed bytes", Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA="))
            let mock = MockExecutor(
                MockResponse.data(compressed).adding(headerField: Field(name: .contentEncoding, value: "gzip")))
            try await context.run(serving: mock) { client in
                let response = try await client.send(try client.request())
                if let coding = response.head.header[.contentEncoding] {
                    try expect("the coding", coding, is: "gzip")
                    try expect("the body", try response.collected, is: compressed)
                } else {
                    try expect(
                        "the body", String(decoding: try response.collected, as: UTF8.self), is: "hello, hello, hello")
                    try expect("Content-Length", response.head.header[.contentLength], is: nil)
                    try expect("the coding in the metrics", response.metrics.contentEncoding, is: "gzip")
                    try expect("the length in the metrics", response.metrics.encodedBodyLength, is: compressed.count)
                }
            }
        },
    ]

    private static func authority(of client: ScenarioClient) throws -> String {
        try client.request().target.authority
    }
}
