import Requests

enum Carts: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Cart), replace(Int, Cart)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Cart(id: 1, name: "a")),
        .replace(1, Cart(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Cart]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/carts").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/carts").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/carts/\(id)")
        case .add(let value): api.post(.json(value), to: "/carts", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/carts/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/carts/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/carts/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/carts/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/carts/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/carts").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Cart: Codable, Sendable {
    let id: Int
    let name: String
}

enum Channels: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Channel), replace(Int, Channel)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Channel(id: 1, name: "a")),
        .replace(1, Channel(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Channel]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/channels").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/channels").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/channels/\(id)")
        case .add(let value): api.post(.json(value), to: "/channels", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/channels/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/channels/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/channels/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/channels/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/channels/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/channels").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Channel: Codable, Sendable {
    let id: Int
    let name: String
}

enum Comments: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Comment), replace(Int, Comment)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Comment(id: 1, name: "a")),
        .replace(1, Comment(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Comment]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/comments").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/comments").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/comments/\(id)")
        case .add(let value): api.post(.json(value), to: "/comments", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/comments/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/comments/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/comments/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/comments/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/comments/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/comments").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Comment: Codable, Sendable {
    let id: Int
    let name: String
}

enum Devices: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Device), replace(Int, Device)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Device(id: 1, name: "a")),
        .replace(1, Device(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Device]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/devices").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/devices").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/devices/\(id)")
        case .add(let value): api.post(.json(value), to: "/devices", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/devices/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/devices/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/devices/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/devices/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/devices/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/devices").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Device: Codable, Sendable {
    let id: Int
    let name: String
}

enum Drafts: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Draft), replace(Int, Draft)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Draft(id: 1, name: "a")),
        .replace(1, Draft(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Draft]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/drafts").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/drafts").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/drafts/\(id)")
        case .add(let value): api.post(.json(value), to: "/drafts", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/drafts/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/drafts/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/drafts/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/drafts/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/drafts/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/drafts").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Draft: Codable, Sendable {
    let id: Int
    let name: String
}

enum Events: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Event), replace(Int, Event)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Event(id: 1, name: "a")),
        .replace(1, Event(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Event]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/events").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/events").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/events/\(id)")
        case .add(let value): api.post(.json(value), to: "/events", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/events/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/events/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/events/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/events/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/events/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/events").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Event: Codable, Sendable {
    let id: Int
    let name: String
}
