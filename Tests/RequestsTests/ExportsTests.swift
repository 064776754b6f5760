import Requests
import Testing

@Suite("Exports")
struct ExportsTests {
    @Test("one re-export applies to every file of the module and every file that imports it")
    func reexport() throws {
        let url: URL = try #require(URL(string: "https://example.com/"))
        #expect(Data(url.absoluteString.utf8).count == 20)
    }

    @Test("methods compare byte by byte, match in a switch and can be written as literals (RQ-20, PM-23, HT-11, L11)")
    func methods() {
        #expect(HTTPMethod.get == "GET")
        #expect(HTTPMethod.get != "get")
        #expect(HTTPMethod("PURGE").rawValue == "PURGE")
        #expect(HTTPMethod.post ~= "POST")
        #expect(!HTTPMethod("GET /x").isValid)
    }
}
