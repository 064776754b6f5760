import Requests

// Frequent mistakes. A House test type-checks this file and expects each error where its comment is. Lines without a
// comment compile.

private struct User: Codable, Sendable { var id: Int }
private struct Raw: Sendable { var id: Int }

private enum Library: RequestProviding {
    case local
    var baseURL: URL { URL("http://127.0.0.1") }
}

private enum Users: Endpoint {
    case me, remove, add(User), put(User), path(String), noDecoder, plain(User)
    func request(from api: Library) -> Request<Library, User> {
        switch self {
        case .me: api.get(.json(), from: "/user")
        case .remove: api.delete("/user")  // error: the response needs a decoder, as in api.delete
        case .add(let user): api.post(.json(user), to: "/users")  // error: the response needs a decoder
        case .put(let user): api.put(.json(user), to: "/users/1")  // error: the response needs a decoder
        case .path(let path): api.get(.json(), from: path)  // error: use RequestPath(path)
        case .noDecoder: api.get("/users")  // error: a GET request needs a decoder
        case .plain(let user): api.post(user, to: "/users", receiving: .json())  // error: the body needs an encoding
        }
    }
}

private let api = Library.local

private func patched() -> Request<Library, User> {
    api.patch("/x", with: .json(User(id: 1)))  // error: the response needs a decoder, as in api.patch
}

private func patchedTo() -> Request<Library, User> {
    api.patch(.json(User(id: 1)), to: "/x")  // error: the response needs a decoder, as in api.patch(.json(value)
}

private func head() -> Request<Library, User> {
    api.head("/x")  // error: the response to HEAD has no content
}

private func undecodable() -> Request<Library, Raw> {
    api.get(.json(), from: "/x")  // error: the type must be Decodable
}

private func undecodableByName() {
    _ = api.get(.json(Raw.self), from: "/x")  // error: the type must be Decodable
    _ = api.get(.json([Raw].self), from: "/x")  // error: the type must be Decodable
}

private func decodedNothing() -> Request<Library, Void> {
    api.get(.json(), from: "/x")  // error: the type must be Decodable; for any JSON
}

private func unencodable(_ raw: Raw) {
    _ = api.post(.json(raw), to: "/x")  // error: the type must be Encodable and Sendable
}

private func unknownType(_ client: Client<Library>) async throws {
    _ = try await client.perform(api.get(.json(), from: "/x"))  // error: the type of the value is unknown
    _ = try await client.perform { $0.get(.json(), from: "/x") }  // error: the type of the value is unknown
    _ = api.get(.json(), from: "/x")  // error: the type of the value is unknown
}

private func withoutWrapper(_ request: Request<Library, User>) {
    _ = api.get("/x")  // error: a GET request needs a decoder
    _ = api.post(User(id: 1), to: "/x")  // error: the body needs an encoding
    _ = api.put(User(id: 1), to: "/x")  // error: the body needs an encoding
    _ = api.patch("/x", with: User(id: 1))  // error: the body needs an encoding
    _ = request.sending(User(id: 1))  // error: the body needs an encoding
    _ = request.adding(headerField: ("X-A", "b"))  // error: a header field is a Field
    _ = request.setting(headerField: ("X-A", "b"))  // error: a header field is a Field
    _ = request.authenticated(with: "token")  // error: credentials need a scheme
    _ = request.authenticated(with: .bearer("token"))  // error: renamed to 'bearerToken(_:)'
    _ = request.authenticated(with: .basic(username: "a", password: "b"))  // error: renamed to 'basicAuth(
    _ = request.timeout(5)  // error: renamed to 'timeout(after:)'
    _ = request.timeout(.seconds(5))  // error: renamed to 'timeout(after:)'
    _ = BodyProvider.data(Data())  // error: use .raw(data: data, contentType: type)
}

private func onClient(_ client: Client<Library>) async throws {
    _ = try await client.get(.json(User.self), from: "/x")  // error: the API creates requests
    _ = try await client.post(.json(User(id: 1)), to: "/x")  // error: the API creates requests
}

private func chains(_ request: Request<Library, User>) -> Request<Library, Int> {
    _ = api.get(.text.map { $0.utf8.count }, from: "/x")
    _ = api.get(.data.map { $0.count }, from: "/x")
    _ = api.get(.json([User].self).map { $0.count }, from: "/x")
    _ = api.get(.jsonValue.map { $0["id"] }, from: "/x")
    _ = request.receiving(.text.map { $0.utf8.count })
    _ = api.post(.none, to: "/x", receiving: .json(User.self).map { $0.id })
    _ = ResponseDecoder.text.map { $0.utf8.count }
    _ = api.get(.header.map { $0.count }, from: "/x")  // error: begins with its type, as in ResponseDecoder.header.map
    return api.get(.json(User.self).map { $0.id }, from: "/x")
}

private func paths(_ id: Int?, _ date: Date, _ ids: [Int], _ url: URL, _ isOpen: Bool) {
    _ = api.get(.text, from: "/x/\(isOpen)/\(UUID())/\(ids.count)")
    _ = api.get(.text, from: "/x/\(id)")  // error: unwrap the Optional first
    _ = api.delete("/x/\(id)")  // error: unwrap the Optional first
    _ = api.get(.text, from: "/x/\(date)")  // error: write its text, as in date.formatted(.iso8601)
    _ = api.get(.text, from: "/x/\(ids)")  // error: write names.joined(separator: ",") or segments: path
    _ = api.post(.none, to: "/x/\(url)")  // error: is a String, an integer, a Bool, a UUID or a PathValue
    _ = api.get(.text, from: "/x/\(1.5)")  // error: is a String, an integer, a Bool, a UUID or a PathValue
    let path: RequestPath = "/x/\(id)"  // error: unwrap the Optional first
    _ = path
}

private func mixed(_ id: Int, _ name: String, _ note: String?) {
    _ = api.post(.json(["id": 1, "name": "x", "tags": ["a", 2], "note": nil]), to: "/x")
    _ = api.post(.json(["id": .integer(id), "name": .string(name)]), to: "/x")
    _ = api.post(.json(["id": id, "name": name]), to: "/x")  // error: in mixed literals, write .string(name)
    _ = api.post(.json(["id": 1, "note": note]), to: "/x")  // error: in mixed literals, write .string(name)
    _ = api.post(.json([id, name]), to: "/x")  // error: in mixed literals, write .string(name)
    _ = api.post(.json(["id": [id, name]]), to: "/x")  // error: in mixed literals, write .string(name)
}

private func queries(_ client: Client<Library>, _ page: Int?) async throws {
    _ = (1...3).map { i in Call<Library, [User]> { $0.get(.json(), from: "/x").with(query: ["i": i]) } }
    let calls: [Call<Library, [User]>] = (1...3).map { i in Call { $0.get(.json(), from: "/x").with(query: ["i": i]) } }
    _ = calls
    _ = try await client.perform { $0.get(.json(User.self), from: "/x").with(query: ["page": page]) }
    _ = try await client.perform { $0.get(.json(User.self), from: "/x", query: ["page": page]) }  // error: .with(query:
}

private func waiting(_ client: Client<Library>, _ request: PreparedRequest) async throws {
    _ = try client.performAndWait(Users.me)  // error: is unavailable from asynchronous contexts
    _ = try client.responseAndWait(for: Users.me)  // error: is unavailable from asynchronous contexts
    _ = try client.executor.executeAndWait(request)  // error: is unavailable from asynchronous contexts
}

private func middleware(_ executor: any RequestExecutor) {
    _ = executor.intercepted { try await $1.execute($0) }  // error: renamed to 'intercepting(_:)'
    _ = executor.intercepting { request, next in try await next.exekute(request) }  // error: has no member 'exekute'
}
