import RequestsMock
import XCTest

@testable import Shop

final class XCTestTests: XCTestCase {
    func testStubs() async throws {
        let mock = MockExecutor()
        mock.on(Items.all, return: [])
        let items = try await Client(ShopAPI(), executor: mock).perform(Items.all)
        XCTAssertEqual(items, [])
        try mock.verify()
    }
}
