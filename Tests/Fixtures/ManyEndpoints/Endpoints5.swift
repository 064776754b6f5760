import Requests

enum Places: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Place), replace(Int, Place)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Place(id: 1, name: "a")),
        .replace(1, Place(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Place]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/places").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/places").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/places/\(id)")
        case .add(let value): api.post(.json(value), to: "/places", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/places/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/places/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/places/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/places/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/places/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/places").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Place: Codable, Sendable {
    let id: Int
    let name: String
}

enum Posts: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Post), replace(Int, Post)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Post(id: 1, name: "a")),
        .replace(1, Post(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Post]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/posts").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/posts").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/posts/\(id)")
        case .add(let value): api.post(.json(value), to: "/posts", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/posts/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/posts/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/posts/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/posts/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/posts/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/posts").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Post: Codable, Sendable {
    let id: Int
    let name: String
}

enum Reports: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Report), replace(Int, Report)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Report(id: 1, name: "a")),
        .replace(1, Report(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Report]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/reports").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/reports").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/reports/\(id)")
        case .add(let value): api.post(.json(value), to: "/reports", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/reports/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/reports/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/reports/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/reports/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/reports/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/reports").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Report: Codable, Sendable {
    let id: Int
    let name: String
}

enum Tickets: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Ticket), replace(Int, Ticket)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Ticket(id: 1, name: "a")),
        .replace(1, Ticket(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Ticket]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/tickets").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/tickets").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/tickets/\(id)")
        case .add(let value): api.post(.json(value), to: "/tickets", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/tickets/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/tickets/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/tickets/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/tickets/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/tickets/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/tickets").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Ticket: Codable, Sendable {
    let id: Int
    let name: String
}

enum Teams: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Team), replace(Int, Team)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Team(id: 1, name: "a")),
        .replace(1, Team(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Team]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/teams").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/teams").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/teams/\(id)")
        case .add(let value): api.post(.json(value), to: "/teams", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/teams/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/teams/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/teams/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/teams/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/teams/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/teams").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Team: Codable, Sendable {
    let id: Int
    let name: String
}

enum Users: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(User), replace(Int, User)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(User(id: 1, name: "a")),
        .replace(1, User(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [User]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/users").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/users").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/users/\(id)")
        case .add(let value): api.post(.json(value), to: "/users", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/users/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/users/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/users/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/users/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/users/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/users").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct User: Codable, Sendable {
    let id: Int
    let name: String
}
