import Requests

/// The API of a shop, as an app writes it.
struct ShopAPI: RequestProviding {
    var baseURL = URL("https://shop.test/api")
}

struct Item: Codable, Equatable, Sendable {
    var name: String
    var price: Int
}

struct Order: Codable, Equatable, Sendable {
    var items: [Item]
    var note: String
}

enum Items: Endpoint, Equatable {
    case all, named(String)

    func request(from api: ShopAPI) -> Request<ShopAPI, [Item]> {
        switch self {
        case .all: api.get(.json(), from: "/items")
        case .named(let name): api.get(.json(), from: "/items/\(name)")
        }
    }
}

enum Orders: Endpoint, CaseIterable {
    case pen, book

    func request(from api: ShopAPI) -> Request<ShopAPI, Order> {
        let item = Item(name: "\(self)", price: 2)
        return api.post(.json(Order(items: [item], note: "as a gift")), to: "/orders", receiving: .json())
    }
}

/// What the app does with the API: it orders an item if the shop has it.
struct Buyer: Sendable {
    let shop: Client<ShopAPI>

    func buy(_ order: Orders) async throws -> Order? {
        guard try await !shop.perform(Items.named("\(order)")).isEmpty else { return nil }
        return try await shop.perform(order)
    }
}
