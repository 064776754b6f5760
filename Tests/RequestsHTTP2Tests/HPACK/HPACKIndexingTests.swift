import Requests
import RequestsHTTP2
import TestSupport
import Testing

/// Which fields the encoder stores in the table, by the bytes of its blocks (RFC 7541 §6).
@Suite("HPACK indexing")
struct HPACKIndexingTests {
    /// The first four bits of a representation.
    enum Representation: UInt8 {
        case indexed = 8
        case incremental = 4
        case without = 0
        case never = 1

        init?(_ first: UInt8) {
            if first & 0x80 != 0 { self = .indexed } else { self.init(rawValue: first & 0x40 != 0 ? 4 : first >> 4) }
        }
    }

    /// Encodes a field three times, each between two others, and returns its representations.
    private func representations(_ name: String, _ value: String, isSecret: Bool) throws -> [Representation] {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        let expected = [FieldBytes("x-a", "a"), FieldBytes(name.lowercased(), value), FieldBytes("x-b", "b")]
        return try (0..<3).map { turn in
            var fields = OutgoingFields()
            fields.append("x-a", "a")
            fields.append(name, value, isSecret: isSecret)
            fields.append("x-b", "b")
            var block: [UInt8] = []
            encoder.encode(fields, into: &block)
            #expect(try decoder.decode(block) == expected)
            // The first field is three bytes of name and one of value, each after its length, or an index.
            return try #require(Representation(block[turn == 0 ? 7 : 1]))
        }
    }

    @Test(
        "credentials, secret fields and short cookies are never indexed", .rows("H-6"),
        arguments: [
            ("authorization", "Bearer abc", false), ("Authorization", "", false), ("authorization", "", false),
            ("proxy-authorization", "Basic YTpi", false), ("PROXY-AUTHORIZATION", "Basic YTpi", false),
            ("x-api-key", "0123456789abcdef0123456789abcdef", true), ("cookie", "a=0123456789abcdef0", false),
            ("cookie", "", false), ("cookie", "a=0123456789abcdef0123456789", true),
            (":path", "/", true), ("accept-encoding", "gzip, deflate", true), ("", "", true),
        ])
    func secrets(name: String, value: String, isSecret: Bool) throws {
        #expect(try representations(name, value, isSecret: isSecret) == [.never, .never, .never])
    }

    @Test(
        "fields that change with most messages are sent without indexing", .rows("H-6"),
        arguments: [
            ":path", "age", "content-length", "etag", "if-match", "if-modified-since", "if-none-match", "if-range",
            "if-unmodified-since", "location", "range", "set-cookie", "Set-Cookie",
        ])
    func changing(name: String) throws {
        #expect(try representations(name, "/1", isSecret: false) == [.without, .without, .without])
    }

    @Test(
        "other fields are stored, and then sent as an index", .rows("H-6"),
        arguments: [
            ("cookie", "a=0123456789abcdef01"), ("x-request-id", "1"), ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("accept", "*/*"), (":authority", "example.com"), ("x-empty", ""), (":status", "201"),
        ])
    func repeated(name: String, value: String) throws {
        #expect(try representations(name, value, isSecret: false) == [.incremental, .indexed, .indexed])
    }

    @Test(
        "a field of the static table is sent as an index from the beginning", .rows("H-6"),
        arguments: [(":method", "GET"), (":path", "/"), (":status", "404"), ("accept", ""), ("via", "")])
    func known(name: String, value: String) throws {
        #expect(try representations(name, value, isSecret: false) == [.indexed, .indexed, .indexed])
    }

    @Test("a secret is not sent as the index of an equal field that is stored", .rows("H-6"))
    func storedSecret() {
        var encoder = HPACKEncoder()
        var block = [UInt8]()
        for isSecret in [false, true] {
            var fields = OutgoingFields()
            fields.append("x-api-key", "secret", isSecret: isSecret)
            block = []
            encoder.encode(fields, into: &block)
        }
        // The name has the index 62: 15 in the first byte, and 47.
        #expect(block.starts(with: [0x1F, 47]))
    }

    @Test("a secret leaves nothing in the table", .rows("H-6"))
    func emptyTable() {
        let (index, text) = (UInt8(0x80 | 62), FieldBytes("x-a", "a"))
        var encoder = HPACKEncoder()
        for turn in 0..<3 {
            var (fields, block) = (outgoing([text]), [UInt8]())
            fields.append("x-secret", "\(turn)", isSecret: true)
            fields.append("authorization", "\(turn)")
            encoder.encode(fields, into: &block)
            if turn > 0 { #expect(block.first == index) }
        }
    }

    @Test("a field that does not fit the table leaves its fields there")
    func largeField() {
        let lists = [[FieldBytes("x-a", "a")], [FieldBytes("x-b", String(repeating: "b", count: 4062))]]
        let blocks = encode(lists + lists)
        #expect(blocks[1].first == 0)
        #expect(blocks[2] == [0x80 | 62])
    }
}
