import RequestsMock
import Testing

@testable import Shop

@Suite("Wire texts", .timeLimit(.minutes(10)))
struct WireTests {
    let shop = Client(ShopAPI(), executor: MockExecutor())

    @Test("the wire text of an endpoint is that of the test")
    func inline() throws {
        try shop.assertWire(
            Items.named("pen"),
            matches: """
                GET /api/items/pen HTTP/1.1
                Host: shop.test
                Accept: application/json
                """)
    }

    @Test("the wire texts of all cases are those of a file")
    func recorded() throws {
        try shop.assertWire(allCasesOf: Orders.self, recordedIn: "orders.txt")
    }
}
