import RequestsMock
import RequestsTestServer

@testable import Shop

let pen = Item(name: "pen", price: 2)

/// Returns a client of the shop that `server` serves.
func shop(_ server: TestServer, _ executor: some RequestExecutor) -> Client<ShopAPI> {
    Client(ShopAPI(baseURL: server.baseURL.appending(path: "api")), executor: executor)
}
