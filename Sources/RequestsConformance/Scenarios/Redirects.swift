extension Scenario {
    private static let secrets: [(Field.Name, String)] = [
        ("authorization", "Bearer secret"), ("COOKIE", "a=secret"), ("pRoXy-AuThOrIzAtIoN", "Basic secret"),
    ]

    static let redirects: [Scenario] = [
        Scenario(
            name: "a 304 to a condition of the request has its own reason, not the reason of a redirect",
            rows: ["C26", "T-60"], group: .redirects
        ) { context in
            let tag = "\"a\""
            let mock = MockExecutor { request in
                request.header[.ifNoneMatch] == tag ? .status(304) : .ok("hello")
            }
            try await context.run(serving: mock) { client in
                let request = client.client.api.get(.data, from: "/x")
                let conditional = request.setting(headerField: Field(name: .ifNoneMatch, value: tag))
                let error = try await expectFailure(.notModified) { try await client.client.perform(conditional) }
                try expect("the status", error.status, is: 304)
                let accepted = try await client.client.response(for: conditional.validating(.none))
                try expect("the status", accepted.status, is: 304)
                try expect("the value", try await client.client.perform(request), is: Data("hello".utf8))
            }
        },
        Scenario(
            name: "303, and 301 and 302 after POST, change to GET without a body; 307 and 308 keep method and body",
            rows: ["T-59", "R-32", "L2", "L3"], group: .redirects
        ) { context in
            let table: [(status: Int, method: HTTPMethod, becomes: HTTPMethod)] = [
                (301, .post, .get), (302, .post, .get), (303, .post, .get), (307, .post, .post), (308, .post, .post),
                (301, .put, .put), (302, .put, .put), (303, .put, .get), (307, .put, .put), (308, .patch, .patch),
                (302, .delete, .delete), (303, .delete, .get), (303, .get, .get),
            ]
            for (status, method, becomes) in table {
                let mock = MockExecutor { request in
                    request.target.path == "/" ? .redirect(HTTPStatus(status), to: "/next") : .ok("there")
                }
                try await context.run(serving: mock) { client in
                    let body = method == .get ? BodyProvider.none : .text("hello")
                    let request = client.client.api.request(to: "/", using: method).receiving(.text).sending(body)
                    try expect("the text", try await client.client.perform(request), is: "there")
                    let last = try need("the last request", client.received.last)
                    try expect("\(method) after \(status)", last.method, is: becomes)
                    let keepsBody = becomes == method && method != .get
                    try expect("the body after \(status)", last.body, is: keepsBody ? Data("hello".utf8) : Data())
                    try expect("Content-Type after \(status)", last.header.contains(.contentType), is: keepsBody)
                    try expect("requests", client.received.count, is: 2)
                }
            }
        },
        Scenario(
            name: "a one-shot body is not sent again after 307 and 308",
            rows: ["R-33"], group: .redirects
        ) { context in
            for status in [307, 308] as [HTTPStatus] {
                try await context.run(serving: MockExecutor(.redirect(status, to: "/next"))) { client in
                    let request = client.client.api.post(.raw(body: .oneShot(length: 1, Chunks("x"))), to: "/")
                    try await expectFailure(.bodyNotReplayable) { try await client.client.perform(request) }
                    try expect("requests", client.received.count, is: 1)
                }
            }
        },
        Scenario(
            name: "secrets stay with their origin: scheme, host, port and zone", rows: ["T-59", "R-27", "L3"],
            group: .redirects, needs: .memory
        ) { _ in
            for matrix in [try SecretMatrix(), SecretMatrix.zones] {
                let mock = SecretMatrix.responder
                try await matrix.verify(over: mock, reaching: ["http", "https"]) {
                    mock.recordedRequests.suffix(2).filter { $0.target.path == "/next" }.map(\.header)
                }
            }
        },
        Scenario(
            name: "a secret that middleware adds to every request is sent to another origin only if permitted",
            rows: ["R-27", "R-28"], group: .redirects, needs: .port
        ) { context in
            let far = MockExecutor { request in
                request.target.path == "/far" ? .redirect(307, to: request.header["X-Back"] ?? "") : .ok("there")
            }
            try await context.run(serving: far) { other in
                let location = "\(other.baseURL.absoluteString)/far"
                let near = MockExecutor { $0.target.path == "/" ? .redirect(307, to: location) : .ok("back") }
                try await context.run(serving: near) { client in
                    let back = Field(name: "X-Back", value: "\(client.baseURL.absoluteString)/back")
                    let request = client.client.api.get(.text, from: "/").adding(headerField: back)
                    let api = client.client.api
                    for permits in [false, true] {
                        let executor = client.executor.intercepted(by: TokenMiddleware(permits: permits))
                        let text = try await Client(api, executor: executor).perform(request)
                        try expect("the text", text, is: "back")
                        let headers = [client.received.suffix(2).first, other.received.last, client.received.last]
                        for (place, header) in zip(["first", "far", "back"], headers.map { $0?.header }) {
                            let isSent = permits || place == "first"
                            for name in ["Authorization", "X-API-Key"] as [Field.Name] {
                                try expect("\(name), \(place)", header?[name], is: isSent ? "secret" : nil)
                            }
                            try expect("X-Trace, \(place)", header?["X-Trace"], is: "1")
                        }
                    }
                }
            }
        },
        Scenario(
            name: "removed secrets are not sent again after a later redirect", rows: ["R-28"], group: .redirects,
            needs: .memory
        ) { context in
            let hops = ["http://other.example/next", "http://api.example.com/next"]
            let sent = try await headers(context, redirecting: hops, status: 307)
            try expect("requests", sent.count, is: 3)
            for (name, _) in secrets { try expect("\(name) at the end", sent[2][name], is: nil) }
        },
        Scenario(
            name: "a field name with white space around it is rejected", rows: ["R-27"],
            group: .redirects
        ) { context in
            try await context.run { client in
                for name in ["Authorization ", " Authorization", "Authorization\t"] {
                    let field = Field(name: Field.Name(name), value: "secret")
                    try await expectFailure(.invalidRequest(.invalidFieldName), context: name) {
                        try await client.send(try client.request(header: [field]))
                    }
                }
                try expect("requests", client.received.count, is: 0)
            }
        },
        Scenario(
            name: "secrets are not sent from one server to another", rows: ["T-59", "R-27"], group: .redirects,
            needs: .port
        ) { context in
            try await context.run(serving: MockExecutor(.ok("there"))) { other in
                let location = "\(other.baseURL.absoluteString)/next"
                try await context.run(serving: MockExecutor(.redirect(307, to: location))) { client in
                    let fields = secrets.map { Field(name: $0.0, value: $0.1) } + [Field(name: "X-Open", value: "open")]
                    let request = client.client.api.post(.text("hello"), to: "/", receiving: .text).adding(
                        headerFields: fields)
                    try expect("the text", try await client.client.perform(request), is: "there")
                    let last = try need("the request", other.received.first)
                    try expect("the body", last.body, is: Data("hello".utf8))
                    try expect("X-Open", last.header["X-Open"], is: "open")
                    for (name, _) in secrets { try expect("\(name)", last.header[name], is: nil) }
                    try expect("X-Open at first", client.received.first?.header["X-Open"], is: "open")
                    try expect("secrets at first", client.received.first?.header[.cookie], is: "a=secret")
                }
            }
        },
        Scenario(
            name: "credentials for a proxy are not sent to an origin server", rows: ["R-27"], group: .redirects
        ) { context in
            try await context.run { client in
                for name in ["Proxy-Authorization", "proxy-authorization", "PROXY-AUTHORIZATION"] {
                    let header: Header = [
                        Field(name: Field.Name(name), value: "Basic secret"), Field(name: "X", value: "y"),
                    ]
                    _ = try await client.send(try client.request(header: header))
                    let last = try need("the request", client.received.last)
                    try expect(name, last.header[.proxyAuthorization], is: nil)
                    try expect("X", last.header["X"], is: "y")
                }
            }
        },
        Scenario(
            name: "a redirect to another scheme than http and https, or from https to http, is rejected",
            rows: ["R-29", "R-30"],
            group: .redirects
        ) { context in
            let targets = [
                "ftp://a.example/", "file:///etc/passwd", "javascript:alert(1)", "data:,x", "unix:/run/x",
                "gopher://a/", "http://", "http://a b/", "http://127.0.0.1:0/", "http://[::%31]/",
            ]
            for target in targets {
                try await context.run(serving: MockExecutor(.redirect(to: target))) { client in
                    let error = try await expectFailure(.unexpectedRedirect, context: target) {
                        try await client.client.perform(client.client.api.get(.text, from: "/"))
                    }
                    try expect("the status", error.status, is: 302)
                    try expect("requests", client.received.count, is: 1)
                }
            }
            guard context.isInMemory else { return }
            let mock = MockExecutor(.redirect(to: "http://api.example.com/next"))
            let client = Client(Probe(baseURL: URL("https://api.example.com")), executor: mock)
            try await expectFailure(.unexpectedRedirect, context: "from https to http") {
                try await client.perform(client.api.get(.text, from: "/"))
            }
        },
        Scenario(
            name: "a Location is resolved against the request and escaped; two different ones are rejected",
            rows: ["R-31", "L3"], group: .redirects
        ) { context in
            let table = [
                ("../x", "/a/x"), ("?q=1", "/a/b/c?q=1"), ("/x y", "/x%20y"), ("./ü", "/a/b/%C3%BC"), ("", nil),
                ("/x#part", "/x"), ("/%2e%2E/x", nil),
            ].filter { $0.1 != nil }
            for (location, target) in table {
                let mock = MockExecutor { request in
                    request.target.path == "/a/b/c" && request.target.query == nil
                        ? .redirect(to: location) : .ok("there")
                }
                try await context.run(serving: mock) { client in
                    _ = try await client.client.perform(client.client.api.get(.text, from: "/a/b/c"))
                    try expect("the target of “\(location)”", client.received.last?.target, is: target)
                }
            }
            let two = MockResponse.redirect(to: "/x").adding(headerField: Field(name: .location, value: "/y"))
            try await context.run(serving: MockExecutor(two)) { client in
                try await expectFailure(.unexpectedRedirect, context: "two Locations") {
                    try await client.client.perform(client.client.api.get(.text, from: "/"))
                }
            }
        },
        Scenario(
            name: "a redirect chain over the limit is an error with the last response", rows: ["T-59", "R-34"],
            group: .redirects
        ) { context in
            try await context.run(serving: MockExecutor(.redirect(to: "/again"))) { client in
                let error = try await expectFailure(.unexpectedRedirect) {
                    try await client.client.perform(client.client.api.get(.text, from: "/"))
                }
                try expect("the status", error.status, is: 302)
                // The default limit is 20 redirects.
                try expect("requests", client.received.count, is: 21)
            }
        },
        Scenario(
            name: "a redirect that is not followed is the response or an error, as the validator decides",
            rows: ["T-60", "PM-26", "PM-73"],
            group: .redirects
        ) { context in
            let mock = MockExecutor { request in
                request.target.path == "/304" ? .status(304) : .redirect(to: "/next")
            }
            try await context.run(serving: mock) { client in
                let api = client.client.api
                let kept = api.get(.data, from: "/").with(redirectPolicy: .none).validating(.none)
                let response = try await client.client.response(for: kept)
                try expect("the status", response.status, is: 302)
                try expect("Location", response.header[.location], is: "/next")
                try expect(
                    "304", try await client.client.response(for: api.get(.data, from: "/304").validating(.none)).status,
                    is: 304)
                for request in [api.get(.data, from: "/").with(redirectPolicy: .none), api.get(.data, from: "/304")] {
                    try await expectFailure(.unexpectedRedirect) { try await client.client.perform(request) }
                }
            }
        },
    ]

    /// Returns the headers of all requests that a GET redirected through `locations` sends.
    private static func headers(
        _ context: ScenarioContext, redirecting locations: [String], status: HTTPStatus
    ) async throws -> [Header] {
        let hop = Counter()
        let mock = MockExecutor { _ in
            let index = hop.next()
            return index < locations.count ? .redirect(status, to: locations[index]) : .ok("there")
        }
        var request = Request(method: .get, baseURL: ScenarioClient.memoryURL, endpoint: "/").receiving(.text)
        for (name, value) in secrets + [("X-Key", "secret"), ("X-Open", "open")] {
            request = request.adding(headerField: Field(name: name, value: value))
        }
        request = request.with(redirectPolicy: RedirectPolicy(sensitiveFields: ["x-key"]))
        _ = try await mock.perform(request)
        return mock.recordedRequests.map(\.header)
    }
}

/// Middleware that adds a token to every request.
private struct TokenMiddleware: Middleware {
    /// Whether the token may be sent to every origin.
    let permits: Bool

    func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var request = request
        if permits { request.permitSecrets(.authorization, "X-API-Key") }
        request.header.set(Field(name: .authorization, value: "secret"))
        request.header.set(Field(name: "X-API-Key", value: "secret"))
        request.header.set(Field(name: "X-Trace", value: "1"))
        return try await next.execute(request)
    }
}
