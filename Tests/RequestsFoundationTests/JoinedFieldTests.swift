import RequestsFoundation
import TestSupport
import Testing

/// Splitting of the fields that Foundation has joined.
@Suite("Joined fields", .timeLimit(.minutes(10)))
struct JoinedFieldTests {
    private static let url = URL("https://e.com/a")

    /// Returns the Location values that are read from an `HTTPURLResponse` with the field value `joined`.
    private static func locations(_ joined: String) -> [String] {
        let response = HTTPURLResponse(
            url: url, statusCode: 302, httpVersion: "HTTP/1.1", headerFields: ["Location": joined])
        let head = response.flatMap { try? ResponseHead($0) }
        return head?.header.values(of: .location) ?? ["-"]
    }

    static let readers = [
        PlantedReader(
            "Set-Cookie",
            samples: ["a=1; Path=/, b=2, Expires=Wed, 09 Jun 2031 10:18:14 GMT,c = d,e=\"f,g=h\"", ",,=,a"],
            parts: JoinedFields.cookies(of:)),
        PlantedReader("Location", samples: ["/a,b, /c,  /d", "http://e.com/, ,/x, "], parts: locations),
    ]

    @Test("a mark after any octet belongs to the text that follows", .rows("R-75"), arguments: readers)
    func planting(reader: PlantedReader) {
        #expect(reader.differences == [])
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    @Test(
        "the time to split a joined field is proportional to its length", .rows("R-71"),
        arguments: ["a=1, ", "a=1,b, ", ",", ", ", " ", "=", ",=", ",a", ", a=\u{301}", "a"])
    func growth(piece: String) async throws {
        for read in [JoinedFields.cookies(of:), Self.locations] {
            let ratio = try await Growth.ratio { size in
                let text = "a=1" + Self.many(piece, size / piece.utf8.count) + ","
                return { _ = read(text) }
            }
            #expect(ratio <= Growth.limit)
        }
    }
}
