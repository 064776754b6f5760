import Requests
import TestSupport
import Testing

@Suite("Exports")
struct ExportsTests {
    @Test("one re-export applies to every file of the module and every file that imports it")
    func reexport() throws {
        let url: URL = try #require(URL(string: "https://example.com/"))
        #expect(Data(url.absoluteString.utf8).count == 20)
    }

    @Test(
        "methods compare byte by byte, match in a switch and can be written as literals",
        .rows("RQ-20", "PM-23", "HT-11", "L11"))
    func methods() {
        let methods: [HTTPMethod] = [.connect, .delete, .get, .head, .options, .patch, .post, .put, .trace]
        #expect(
            methods.map(\.rawValue) == [
                "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
            ])
        #expect(methods.allSatisfy { HTTPMethod(rawValue: $0.rawValue) == $0 && $0.isValid })
        #expect(Set(methods).count == 9 && !Set(methods).contains("get"))
        switch HTTPMethod("PURGE") {
        case .get, "purge": Issue.record("another method matches")
        case "PURGE": break
        default: Issue.record("the literal does not match")
        }
        #expect(HTTPMethod.get == "GET")
        #expect(HTTPMethod.get != "get")
        #expect(HTTPMethod("PURGE").rawValue == "PURGE")
        #expect(HTTPMethod.post ~= "POST")
        #expect(!HTTPMethod("GET /x").isValid)
    }
}
