import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

/// Returns the status and the body of the response to `request`.
private func response(to request: String, from server: TestServer) async throws -> (status: String, body: String) {
    let client = try await RawClient(server)
    try await client.send(request)
    let text = try await client.receive()
    let head = text.split(separator: "\r\n\r\n", maxSplits: 1)
    return (String(text.split(separator: " ")[1]), head.count > 1 ? String(head[1]) : "")
}

// The server closes the connection after the response. A client that ended its sending side instead would count as one
// that has left.
private let closing = "Host: a\r\nConnection: close\r\n"

private func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\n\(closing)\r\n" }

@Suite("Test server: routing", .serialized, .timeLimit(.minutes(10)))
struct RoutingTests {
    @Test(
        "a route matches decoded components, one slash at the end and named parameters", .rows("PM-131"),
        arguments: [
            ("/users/:login", "/users/a%20b", "a b"), ("/users/:login", "/users/x/", "x"),
            ("/users/:login", "/users/", nil), ("/users/:login", "/users/x/y", nil), ("/users/:login", "/users//", nil),
            ("/f%6Fo/:login", "/foo/x?q=1", "x"), ("/a/:login", "/a/b%2Fc", "b/c"), ("/:login", "/a//", nil),
            ("/%FF/:login", "/%FF/x", "x"), ("/%FF/:login", "/%FE/x", nil), ("/%EF%BF%BD/:login", "/%FF/x", nil),
            ("/caf\u{E9}/:login", "/caf%C3%A9/x", "x"), ("/caf\u{E9}/:login", "/cafe%CC%81/x", nil),
        ])
    func patterns(pattern: String, path: String, login: String?) async throws {
        let routes = TestServer.Routes()
        routes.on(.get, pattern) { .text($0.parameters["login"] ?? "none") }
        try await withTestServer(serving: routes) { server in
            let (status, body) = try await response(to: get(path), from: server)
            #expect(status == (login == nil ? "404" : "200"))
            if let login { #expect(body == login) }
        }
    }

    @Test(
        "the value of the first query item with a value is returned decoded, including an empty value", .rows("PM-131"),
        arguments: [
            ("a=", ""), ("a", nil), ("", nil), ("b=1", nil), ("a=1&a=2", "1"), ("a&a=1", "1"), ("a==b", "=b"),
            ("%61=%3D%26", "=&"), ("a%CC%81=1", nil), ("=a", nil),
        ])
    func queryItems(query: String, value: String?) async throws {
        let routes = TestServer.Routes()
        routes.on(.get, "/") { .text($0.queryItem("a").map { "“\($0)”" } ?? "none") }
        try await withTestServer(serving: routes) { server in
            let (_, body) = try await response(to: get("/?\(query)"), from: server)
            #expect(body == (value.map { "“\($0)”" } ?? "none"))
        }
    }

    @Test("the requests of one connection have their own hosts, paths and queries", .rows("PM-130", "R-73"))
    func targets() async throws {
        let mock = MockExecutor(.status(204))
        try await withTestServer(serving: mock) { server in
            let targets = [
                ("a.test", "/x?y=1"), ("a.test", "//b.test/y"), ("a.test", "/"), ("A.test:80", "/../%7E?"),
                ("a.test", "/%2e%2E/z"), ("b.test:8080", "/x?y=1"), ("b.test:8080", "/?//c.test"), ("a.test", "/x"),
            ]
            let client = try await RawClient(server)
            for (host, path) in targets { try await client.send("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n") }
            client.endSending()
            _ = try await client.receive()
            #expect(server.exchanges.map(\.target) == targets.map(\.1))
            // The targets are those that a parser of the whole URI returns.
            let expected = try targets.map { try TargetURI("http://\($0)\($1)").absoluteString }
            #expect(mock.recordedRequests.map(\.target.absoluteString) == expected)
        }
    }

    @Test("a request falls through to the next route, and to the function for unhandled requests", .rows("PM-131"))
    func fallThrough() async throws {
        let routes = TestServer.Routes()
        routes.on(.post, "/a") { _ in .text("post") }
        routes.on(nil, "/a") { request in request.queryItem("x") == "1 2" ? .text("first") : nil }
        routes.on(.get, "/a") { _ in .text("second") }
        routes.on(nil, "/broken") { _ in throw CancellationError() }
        try await withTestServer(serving: routes) { server in
            #expect(try await response(to: get("/a?x=1%202"), from: server) == ("200", "first"))
            #expect(try await response(to: get("/a?x"), from: server) == ("200", "second"))
            let missing = try await response(to: get("/b"), from: server)
            #expect(missing == ("404", "no route handles GET /b\n"))
            #expect(try await response(to: get("/broken"), from: server).status == "500")
            routes.onUnhandled { .status(410, "\($0.method) \($0.target.path)") }
            #expect(try await response(to: get("/b"), from: server) == ("410", "GET /b"))
        }
    }

    @Test("routes receive the body and the parts of a form, and respond with JSON", .rows("PM-131"))
    func forms() async throws {
        let routes = TestServer.Routes()
        routes.on(.post, "/form") { request in
            try .json(
                try request.multipartParts().map { [$0.name, $0.filename, String(decoding: $0.body, as: UTF8.self)] })
        }
        routes.on(.put, "/echo") { .text(String(decoding: $0.body, as: UTF8.self)) }
        try await withTestServer(serving: routes) { server in
            let form = """
                --x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n\
                --x\r\nContent-Disposition: form-data; name="b"; filename="c.txt"\r\n\r\n\r\n--x--\r\n
                """
            let head = "POST /form HTTP/1.1\r\n\(closing)Content-Type: multipart/form-data; boundary=x\r\n"
            let sent = try await response(
                to: "\(head)Content-Length: \(form.utf8.count)\r\n\r\n\(form)", from: server)
            #expect(sent == ("200", #"[["a",null,"1"],["b","c.txt",""]]"#))
            let echo = try await response(
                to: "PUT /echo HTTP/1.1\r\n\(closing)Content-Length: 2\r\n\r\nhi", from: server)
            #expect(echo == ("200", "hi"))
            // The error of the reader is the response's text.
            let failed = try await response(
                to: "POST /form HTTP/1.1\r\n\(closing)Content-Length: 2\r\n\r\nhi", from: server)
            #expect(failed.status == "500" && failed.body.contains("not a multipart type"))
        }
    }

    @Test("an expected request is returned when its response has been sent, by its position too", .rows("PM-132"))
    func expecting() async throws {
        let routes = TestServer.Routes()
        routes.on(.post, "/users/:login") { _ in .status(201) }
        try await withTestServer(serving: routes) { server in
            async let arrived = server.expectRequest(.post, to: "/users/:login", skipping: 1)
            for login in ["a", "b"] {
                _ = try await response(to: get("/users/\(login)"), from: server)
                _ = try await response(
                    to: "POST http://a/users/\(login)?q HTTP/1.1\r\n\(closing)Content-Length: 1\r\n\r\nx",
                    from: server)
            }
            let exchange = try await arrived
            #expect(exchange.status == 201 && exchange.path == "/users/b")
            #expect(exchange.body == Data("x".utf8))
            #expect(try await server.expectRequest(to: "/users/a").status == 404)
            let waiting = Task { try await server.expectRequest(to: "/never") }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test("an expected request is found even if earlier requests were removed from the record", .rows("PM-132"))
    func expectingBeyondRecord() async throws {
        let limits = TestServer.Limits(recording: .init(requests: 2))
        try await withTestServer(serving: TestServer.Routes(), limits: limits) { server in
            let found = try await withThrowingTaskGroup(of: TestServer.Exchange?.self) { group in
                group.addTask { try await server.expectRequest(to: "/users/:login", skipping: 5) }
                // The wait begins at some time during these requests.
                group.addTask {
                    for login in 0..<2_000 where !Task.isCancelled {
                        _ = try await response(to: get("/users/\(login)"), from: server)
                    }
                    return nil
                }
                let first = try await group.next()
                group.cancelAll()
                return first ?? nil
            }
            #expect(found?.status == 404)
        }
    }

    @Test(
        "requests over the strict limits have the statuses of PMHTTP, and folded fields are refused",
        .rows("T-88", "PM-130"),
        arguments: [
            ("PUT / HTTP/1.1\r\n\(closing)Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n", "200"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX-Folded: a\r\n b\r\n\r\n", "400"),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 6291456\r\n\r\n", "413"),
            ("FROB / HTTP/1.1\r\nHost: a\r\n\r\n", "405"),
            ("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400"),
            ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505"),
            ("GET /\(String(repeating: "x", count: 17_000)) HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
        ])
    func strict(request: String, status: String) async throws {
        try await withTestServer(serving: MockExecutor(.ok()), limits: .strict) { server in
            let received = try await response(to: request, from: server).status
            #expect(received == status)
        }
    }

    @Test(
        "a body of 6 MiB is refused with 413 while it is sent, whatever its framing", .rows("T-88", "PM-130"),
        arguments: [true, false])
    func longBody(isChunked: Bool) async throws {
        let mebibyte = String(repeating: "x", count: 1 << 20)
        try await withTestServer(serving: MockExecutor(.ok()), limits: .strict) { server in
            let client = try await RawClient(server)
            try await client.send(
                "PUT / HTTP/1.1\r\nHost: a\r\n"
                    + (isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 6291456") + "\r\n\r\n")
            let sending = Task {
                for _ in 0..<6 { try await client.send(isChunked ? "100000\r\n\(mebibyte)\r\n" : mebibyte) }
                if isChunked { try await client.send("0\r\n\r\n") }
            }
            let text = try await client.receive("HTTP/1.1 413".utf8.count)
            #expect(text.hasPrefix("HTTP/1.1 413"))
            sending.cancel()
            _ = await sending.result
            try await server.waitUntil { $0.exchanges.map(\.status) == [413] }
            #expect(server.exchanges[0].body.count <= 5 << 20)
        }
    }

    @Test("slow heads and bodies are refused, and idle connections closed", .rows("R-73"))
    func slowClients() async throws {
        var limits = TestServer.Limits()
        limits.headTime = .milliseconds(20)
        limits.bodyTime = .milliseconds(20)
        limits.idleTime = .milliseconds(20)
        limits.drainTime = .zero
        try await withTestServer(serving: MockExecutor(.ok()), limits: limits) { server in
            let head = try await RawClient(server)
            try await head.send("GET / HT")
            #expect(try await head.receive().hasPrefix("HTTP/1.1 408 "))
            let body = try await RawClient(server)
            try await body.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx")
            #expect(try await body.receive().hasPrefix("HTTP/1.1 408 "))
            let idle = try await RawClient(server)
            #expect(try await idle.receive().isEmpty)
            try await server.waitUntil { $0.openConnections == 0 }
        }
    }

    @Test(
        "a client whose bytes arrive one at a time is refused when its time ends", .rows("R-73"),
        arguments: [
            "GET / HTTP/1.1\r\nHost: a\r\nA: ", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n",
        ])
    func dripping(start: String) async throws {
        var limits = TestServer.Limits()
        limits.headTime = .milliseconds(100)
        limits.bodyTime = .milliseconds(100)
        limits.drainTime = .seconds(600)
        try await withTestServer(serving: MockExecutor(.ok()), limits: limits) { server in
            let client = try await RawClient(server)
            try await client.send(start)
            let sender = Task {
                while !Task.isCancelled {
                    try await client.send("a")
                    // A hundredth of the time limit, so that no pause between two bytes reaches it.
                    try await Task.sleep(for: .milliseconds(1))
                }
            }
            #expect(try await client.receive(12).hasPrefix("HTTP/1.1 408"))
            sender.cancel()
            _ = await sender.result
        }
    }
}

@Suite("Test server: mocks over a socket", .serialized, .timeLimit(.minutes(10)))
struct ServedMockTests {
    private struct Shop: RequestProviding {
        var baseURL = URL("https://shop.test/api")
    }

    private struct Item: Codable, Equatable, Sendable {
        let name: String
    }

    private enum Items: Endpoint {
        case named(String)
        case add(Item)

        func request(from api: Shop) -> Request<Shop, Item> {
            switch self {
            case .named(let name): api.get(.json(), from: "/items/\(name)")
            case .add(let item): api.post(.json(item), to: "/items", receiving: .json())
            }
        }
    }

    @Test("stubs for endpoints and relative patterns match requests from a socket", .rows("PM-130"))
    func stubs() async throws {
        let mock = MockExecutor()
        let pen = Item(name: "pen")
        mock.on(Items.named("pen"), return: pen)
        mock.on(Items.add(pen), return: Item(name: "added"))
        mock.on(.get, "lists/:id", respond: .json("[1]"))
        try await withTestServer(serving: mock.serving(Shop())) { server in
            #expect(try await response(to: get("/api/items/pen"), from: server).body == #"{"name":"pen"}"#)
            #expect(try await response(to: get("/api/lists/1"), from: server).body == "[1]")
            let add = "POST /api/items HTTP/1.1\r\n\(closing)Content-Length: 16\r\n\r\n{\"name\" : \"pen\"}"
            #expect(try await response(to: add, from: server).body == #"{"name":"added"}"#)
            // Policies do not retry this status.
            let other = try await response(to: get("/api/items/cup"), from: server)
            #expect(other.status == "501" && other.body.contains("no stub matches"))
        }
        #expect(mock.recordedRequests.first?.target.host == "shop.test")
        #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
    }

    @Test("results of every kind are as in memory, and connection failures close the connection", .rows("PM-130"))
    func results() async throws {
        let mock = MockExecutor()
        mock.on(.get, "list", respond: .sequence(.text("1"), .status(503), .text("3"), repeatsLastResponse: true))
        mock.on(.get, "late", respond: .text("late").delayed(by: .milliseconds(10)))
        mock.on(.get, "second", respond: .text("ok").failing(with: RequestError(.connectionLost), onCall: 2))
        mock.on(.get, "counted", state: 0) { count, _, _ in
            count += 1
            return .ok("\(count)")
        }
        mock.on(.get, "dripped", respond: .text("abc").with(fault: .drip(bytes: 1, every: .milliseconds(1))))
        mock.on(.get, "cut", respond: .text("abcdef").with(fault: .cut(afterBytes: 2)))
        mock.on(.get, "refused", respond: .fault(.refuse))
        mock.on(.get, "garbage", respond: .fault(.garbage))
        mock.on(.get, "unknown", respond: .failure(.hostNotFound))
        mock.on(.get, "broken", respond: .failure(.other))
        try await withTestServer(serving: mock.serving(Shop())) { server in
            /// Returns the status and the body of each response; nil for a connection that closes without one.
            func responses(to path: String, count: Int) async throws -> [String?] {
                var responses: [String?] = []
                for _ in 0..<count {
                    let client = try await RawClient(server)
                    try await client.send(get("/api/\(path)"))
                    let parts = try await client.receive().split(separator: "\r\n\r\n", maxSplits: 1)
                    let body = parts.count > 1 ? parts[1] : ""
                    responses.append(parts.first.map { "\($0.split(separator: " ")[1]) \(body)" })
                }
                return responses
            }
            #expect(try await responses(to: "list", count: 4) == ["200 1", "503 ", "200 3", "200 3"])
            #expect(try await responses(to: "late", count: 1) == ["200 late"])
            #expect(try await responses(to: "second", count: 3) == ["200 ok", nil, "200 ok"])
            #expect(try await responses(to: "counted", count: 2) == ["200 1", "200 2"])
            for path in ["refused", "garbage", "unknown"] {
                #expect(try await responses(to: path, count: 1) == [nil], "\(path)")
            }
            #expect(try await responses(to: "broken", count: 1).first??.hasPrefix("500") == true)
            for path in ["cut", "dripped"] {
                let client = try await RawClient(server)
                try await client.send(get("/api/\(path)"))
                let text = try await client.receive()
                let body = text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
                #expect(text.hasPrefix("HTTP/1.1 200") && body.contains("b"), "\(text)")
                #expect(body.contains("c") == (path == "dripped"), "\(text)")
            }
        }
    }
}
