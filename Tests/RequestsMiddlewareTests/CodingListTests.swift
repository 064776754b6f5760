import RequestsMiddleware
import RequestsPOSIX
import TestSupport
import Testing

@Suite("The list of content codings", .timeLimit(.minutes(10)))
struct CodingListTests {
    private static func names(_ value: String) -> [String] {
        ContentCodingList([Field(name: .contentEncoding, value: value)]).names
    }

    @Test("a mark after any octet belongs to the text that follows", .rows("R-75"))
    func planting() {
        let reader = PlantedReader(
            "Content-Encoding", samples: ["gzip, br ,,identity,\tzstd\t, None", " deflate"], parts: Self.names)
        #expect(reader.differences == [])
    }

    @Test(
        "the time to read the list is proportional to its length", .rows("R-71"),
        arguments: ["gzip, ", ",", " ", "\t,", "identity,", "a", ",\u{301}"])
    func growth(piece: String) async throws {
        let ratio = try await Growth.ratio { size in
            let header: Header = [
                Field(name: .contentEncoding, value: String(repeating: piece, count: size / piece.utf8.count))
            ]
            return { _ = try? ContentCodingList(header).codings(of: [], limit: .max) }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test("the time to read the list is proportional to the number of fields", .rows("R-71"))
    func fields() async throws {
        let ratio = try await Growth.ratio { size in
            let header = Header((0..<size).map { _ in Field(name: .contentEncoding, value: "gzip") })
            return { #expect(ContentCodingList(header).names.count == size) }
        }
        #expect(ratio <= Growth.limit)
    }
}
