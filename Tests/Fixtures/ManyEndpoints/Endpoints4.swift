import Requests

enum Labels: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Label), replace(Int, Label)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Label(id: 1, name: "a")),
        .replace(1, Label(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Label]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/labels").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/labels").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/labels/\(id)")
        case .add(let value): api.post(.json(value), to: "/labels", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/labels/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/labels/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/labels/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/labels/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/labels/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/labels").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Label: Codable, Sendable {
    let id: Int
    let name: String
}

enum Lists: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(List), replace(Int, List)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(List(id: 1, name: "a")),
        .replace(1, List(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [List]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/lists").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/lists").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/lists/\(id)")
        case .add(let value): api.post(.json(value), to: "/lists", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/lists/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/lists/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/lists/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/lists/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/lists/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/lists").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct List: Codable, Sendable {
    let id: Int
    let name: String
}

enum Messages: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Message), replace(Int, Message)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Message(id: 1, name: "a")),
        .replace(1, Message(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Message]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/messages").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/messages").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/messages/\(id)")
        case .add(let value): api.post(.json(value), to: "/messages", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/messages/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/messages/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/messages/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/messages/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/messages/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/messages").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Message: Codable, Sendable {
    let id: Int
    let name: String
}

enum Orders: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Order), replace(Int, Order)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Order(id: 1, name: "a")),
        .replace(1, Order(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Order]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/orders").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/orders").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/orders/\(id)")
        case .add(let value): api.post(.json(value), to: "/orders", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/orders/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/orders/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/orders/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/orders/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/orders/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/orders").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Order: Codable, Sendable {
    let id: Int
    let name: String
}

enum Pages: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Page), replace(Int, Page)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Page(id: 1, name: "a")),
        .replace(1, Page(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Page]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/pages").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/pages").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/pages/\(id)")
        case .add(let value): api.post(.json(value), to: "/pages", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/pages/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/pages/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/pages/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/pages/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/pages/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/pages").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Page: Codable, Sendable {
    let id: Int
    let name: String
}

enum Payments: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Payment), replace(Int, Payment)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Payment(id: 1, name: "a")),
        .replace(1, Payment(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Payment]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/payments").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/payments").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/payments/\(id)")
        case .add(let value): api.post(.json(value), to: "/payments", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/payments/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/payments/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/payments/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/payments/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/payments/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/payments").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Payment: Codable, Sendable {
    let id: Int
    let name: String
}
