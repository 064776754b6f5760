import RequestsMock
import XCTest

/// The checks of a mock in XCTest, where a thrown error fails a test as in Swift Testing.
final class XCTestMockTests: XCTestCase {
    func testErrorsDescribeThemselves() async throws {
        let mock = MockExecutor()
        mock.on(StubbedBooks.titled("Emma"), return: emma)
        XCTAssertThrowsError(try mock.verify()) { error in
            XCTAssertTrue("\(error)".utf8.starts(with: "unused stub: StubbedBooks at RequestsMockTests/".utf8))
        }
        let book = try await library(mock).perform(StubbedBooks.titled("Emma"))
        XCTAssertEqual(book, emma)
        try mock.verify()
        XCTAssertThrowsError(try library(mock).assertWire(StubbedBooks.titled("Emma"), matches: "GET /"))
    }
}
