public import Requests

// A large API: 300 endpoints in 30 enums. Docs/Performance.md states how long it takes to compile.
// Only the models are `nonisolated`, so that the API also compiles in a module that is on the main actor by default.

/// The API of all endpoints.
public struct Service: RequestProviding {
    /// The base URL of the API.
    public let baseURL: URL

    /// Creates the API at `baseURL`.
    public init(baseURL: URL) { self.baseURL = baseURL }
}

/// Returns the prepared request of every endpoint.
public func manyRequests(of api: Service) throws -> [PreparedRequest] {
    var requests: [PreparedRequest] = []
    for call in Accounts.every { requests.append(try call.request(from: api).prepared()) }
    for call in Albums.every { requests.append(try call.request(from: api).prepared()) }
    for call in Articles.every { requests.append(try call.request(from: api).prepared()) }
    for call in Badges.every { requests.append(try call.request(from: api).prepared()) }
    for call in Boards.every { requests.append(try call.request(from: api).prepared()) }
    for call in Books.every { requests.append(try call.request(from: api).prepared()) }
    for call in Carts.every { requests.append(try call.request(from: api).prepared()) }
    for call in Channels.every { requests.append(try call.request(from: api).prepared()) }
    for call in Comments.every { requests.append(try call.request(from: api).prepared()) }
    for call in Devices.every { requests.append(try call.request(from: api).prepared()) }
    for call in Drafts.every { requests.append(try call.request(from: api).prepared()) }
    for call in Events.every { requests.append(try call.request(from: api).prepared()) }
    for call in Files.every { requests.append(try call.request(from: api).prepared()) }
    for call in Folders.every { requests.append(try call.request(from: api).prepared()) }
    for call in Groups.every { requests.append(try call.request(from: api).prepared()) }
    for call in Images.every { requests.append(try call.request(from: api).prepared()) }
    for call in Invoices.every { requests.append(try call.request(from: api).prepared()) }
    for call in Issues.every { requests.append(try call.request(from: api).prepared()) }
    for call in Labels.every { requests.append(try call.request(from: api).prepared()) }
    for call in Lists.every { requests.append(try call.request(from: api).prepared()) }
    for call in Messages.every { requests.append(try call.request(from: api).prepared()) }
    for call in Orders.every { requests.append(try call.request(from: api).prepared()) }
    for call in Pages.every { requests.append(try call.request(from: api).prepared()) }
    for call in Payments.every { requests.append(try call.request(from: api).prepared()) }
    for call in Places.every { requests.append(try call.request(from: api).prepared()) }
    for call in Posts.every { requests.append(try call.request(from: api).prepared()) }
    for call in Reports.every { requests.append(try call.request(from: api).prepared()) }
    for call in Tickets.every { requests.append(try call.request(from: api).prepared()) }
    for call in Teams.every { requests.append(try call.request(from: api).prepared()) }
    for call in Users.every { requests.append(try call.request(from: api).prepared()) }
    return requests
}

enum Accounts: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Account), replace(Int, Account)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Account(id: 1, name: "a")),
        .replace(1, Account(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Account]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/accounts").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/accounts").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/accounts/\(id)")
        case .add(let value): api.post(.json(value), to: "/accounts", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/accounts/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/accounts/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/accounts/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/accounts/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/accounts/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/accounts").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Account: Codable, Sendable {
    let id: Int
    let name: String
}

enum Albums: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Album), replace(Int, Album)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Album(id: 1, name: "a")),
        .replace(1, Album(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Album]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/albums").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/albums").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/albums/\(id)")
        case .add(let value): api.post(.json(value), to: "/albums", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/albums/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/albums/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/albums/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/albums/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/albums/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/albums").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Album: Codable, Sendable {
    let id: Int
    let name: String
}

enum Articles: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Article), replace(Int, Article)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Article(id: 1, name: "a")),
        .replace(1, Article(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Article]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/articles").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/articles").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/articles/\(id)")
        case .add(let value): api.post(.json(value), to: "/articles", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/articles/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/articles/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/articles/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/articles/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/articles/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/articles").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Article: Codable, Sendable {
    let id: Int
    let name: String
}

enum Badges: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Badge), replace(Int, Badge)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Badge(id: 1, name: "a")),
        .replace(1, Badge(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Badge]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/badges").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/badges").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/badges/\(id)")
        case .add(let value): api.post(.json(value), to: "/badges", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/badges/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/badges/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/badges/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/badges/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/badges/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/badges").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Badge: Codable, Sendable {
    let id: Int
    let name: String
}

enum Boards: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Board), replace(Int, Board)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Board(id: 1, name: "a")),
        .replace(1, Board(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Board]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/boards").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/boards").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/boards/\(id)")
        case .add(let value): api.post(.json(value), to: "/boards", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/boards/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/boards/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/boards/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/boards/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/boards/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/boards").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Board: Codable, Sendable {
    let id: Int
    let name: String
}

enum Books: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Book), replace(Int, Book)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Book(id: 1, name: "a")),
        .replace(1, Book(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Book]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/books").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/books").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/books/\(id)")
        case .add(let value): api.post(.json(value), to: "/books", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/books/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/books/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/books/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/books/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/books/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/books").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Book: Codable, Sendable {
    let id: Int
    let name: String
}
