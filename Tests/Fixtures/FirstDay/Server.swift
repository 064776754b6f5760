import RequestsMock

/// Returns the bytes of a request's body.
func content(of request: PreparedRequest) async throws -> Data {
    guard case .bytes(let data) = try await request.body.collected() else { return Data() }
    return data
}

/// The server of the tasks, as a table of routes.
let routes = MockExecutor(
    routes: .on(
        .get, "/user", .ok(#"{"id": 1, "login": "ada", "created_at": "2026-11-20T11:00:00Z"}"#, contentType: .json)),
    .on(.get, "/users/{}") { request in
        let login = request.target.path.split(separator: "/").last.map(String.init) ?? ""
        if login == "none" { return .status(404, #"{"message": "no such user"}"#, contentType: .json) }
        return .ok(#"{"id": 2, "login": "\#(login)"}"#, contentType: .json)
    },
    .on(.post, "/users") { request in .data(try await content(of: request), contentType: .json, status: 201) },
    .on(.get, "/repos") { request in
        let page = request.target.query == "page=2" ? 2 : 1
        let response = MockResponse.ok(page == 1 ? #"[{"id": 1}, {"id": 2}]"# : #"[{"id": 3}]"#, contentType: .json)
        return page == 2
            ? response : response.adding(headerField: Field(name: .link, value: "</repos?page=2>; rel=\"next\""))
    },
    .on(.get, "/search") { request in
        .ok(#"{"results": [{"id": 7}], "query": "\#(request.target.query ?? "")"}"#, contentType: .json)
    },
    .on(.get, "/feed", .ok("data: one\n\ndata: two\n\n", contentType: "text/event-stream")),
    .on(.get, "/log", .ok("{\"id\": 1}\n{\"id\": 2}\n", contentType: "application/jsonl")),
    .on(.get, "/latin", .data(Data([0xE9]), contentType: "text/plain; charset=iso-8859-1")),
    .on(.get, "/slow", MockResponse(delay: .endless)),
    .on(nil, "/echo") { request in
        let fields = ["Accept", "Authorization", "Content-Type", "Cookie", "X-Client"].compactMap { name in
            request.header[Field.Name(name)].map { "\(name): \($0)" }
        }
        let body = String(decoding: try await content(of: request), as: UTF8.self)
        let lines = ["\(request.method) \(request.target.query ?? "-")"] + fields + [body]
        return .ok(lines.joined(separator: "|"))
    })
