import Requests

enum Files: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(File), replace(Int, File)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(File(id: 1, name: "a")),
        .replace(1, File(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [File]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/files").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/files").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/files/\(id)")
        case .add(let value): api.post(.json(value), to: "/files", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/files/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/files/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/files/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/files/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/files/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/files").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct File: Codable, Sendable {
    let id: Int
    let name: String
}

enum Folders: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Folder), replace(Int, Folder)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Folder(id: 1, name: "a")),
        .replace(1, Folder(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Folder]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/folders").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/folders").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/folders/\(id)")
        case .add(let value): api.post(.json(value), to: "/folders", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/folders/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/folders/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/folders/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/folders/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/folders/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/folders").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Folder: Codable, Sendable {
    let id: Int
    let name: String
}

enum Groups: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Group), replace(Int, Group)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Group(id: 1, name: "a")),
        .replace(1, Group(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Group]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/groups").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/groups").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/groups/\(id)")
        case .add(let value): api.post(.json(value), to: "/groups", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/groups/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/groups/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/groups/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/groups/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/groups/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/groups").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Group: Codable, Sendable {
    let id: Int
    let name: String
}

enum Images: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Image), replace(Int, Image)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Image(id: 1, name: "a")),
        .replace(1, Image(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Image]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/images").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/images").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/images/\(id)")
        case .add(let value): api.post(.json(value), to: "/images", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/images/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/images/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/images/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/images/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/images/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/images").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Image: Codable, Sendable {
    let id: Int
    let name: String
}

enum Invoices: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Invoice), replace(Int, Invoice)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Invoice(id: 1, name: "a")),
        .replace(1, Invoice(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Invoice]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/invoices").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/invoices").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/invoices/\(id)")
        case .add(let value): api.post(.json(value), to: "/invoices", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/invoices/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/invoices/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/invoices/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/invoices/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/invoices/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/invoices").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Invoice: Codable, Sendable {
    let id: Int
    let name: String
}

enum Issues: Endpoint {
    case list(page: Int), search(String, tags: [String]), one(Int), add(Issue), replace(Int, Issue)
    case rename(Int, to: String), parts(of: Int, under: String), latest, upload(Data, name: String), since(Date)

    static let every: [Self] = [
        .list(page: 1), .search("a", tags: ["b"]), .one(1), .add(Issue(id: 1, name: "a")),
        .replace(1, Issue(id: 1, name: "a")), .rename(1, to: "b"), .parts(of: 1, under: "a/b"), .latest,
        .upload(Data(), name: "f"), .since(Date(timeIntervalSince1970: 0)),
    ]

    func request(from api: Service) -> Request<Service, [Issue]> {
        switch self {
        case .list(let page): api.get(.json(), from: "/issues").with(query: ["page": page, "limit": 30])
        case .search(let text, let tags):
            api.get(.json(), from: "/issues").adding(parameters: [
                "q": .string(text), "tags": .array(tags.map(RequestParameters.Value.string)),
            ])
        case .one(let id): api.get(.json(), from: "/issues/\(id)")
        case .add(let value): api.post(.json(value), to: "/issues", receiving: .json())
        case .replace(let id, let value): api.put(.json(value), to: "/issues/\(id)", receiving: .json())
        case .rename(let id, let name): api.patch("/issues/\(id)", with: .form(["name": name]), receiving: .json())
        case .parts(let id, let name): api.get(.json(), from: "/issues/\(id)/parts/\(name)")
        case .latest:
            api.get(.json(), from: "/issues/latest").adding(headerField: .accept([.json])).timeout(after: .seconds(5))
        case .upload(let data, let name):
            api.post(.multipart([.data(data, name: "file", filename: name)]), to: "/issues/files", receiving: .json())
        case .since(let date): api.get(.json(), from: "/issues").adding(headerField: .ifModifiedSince(date))
        }
    }
}

nonisolated struct Issue: Codable, Sendable {
    let id: Int
    let name: String
}
