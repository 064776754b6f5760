import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("Requests that HTTP/2 sends")
struct RequestFieldsTests {
    /// The fields as a peer decodes them, one `name: value` each.
    private static func lines(_ fields: OutgoingFields) throws -> [String] {
        var encoder = HPACKEncoder()
        var decoder = HPACKDecoder()
        var block: [UInt8] = []
        encoder.encode(fields, into: &block)
        return try decoder.decode(block).map(\.description)
    }

    private static func lines(_ request: PreparedRequest, length: Int? = 0, adding additions: [Field] = []) throws
        -> [String]
    {
        try lines(OutgoingFields(request, length: length, adding: additions))
    }

    private static func request(
        _ url: String = "https://a.example/", _ method: HTTPMethod = .get, _ header: Header = .empty,
        body: RequestBody = .none
    ) throws -> PreparedRequest {
        PreparedRequest(method: method, target: try TargetURI(url), header: header, body: body)
    }

    @Test("the target is four pseudo-header fields, whose path is never empty", .rows("H-14", "H-11"))
    func targets() throws {
        let rows: [(url: String, method: HTTPMethod, fields: [String])] = [
            ("https://a.example", .get, [":method: GET", ":scheme: https", ":authority: a.example", ":path: /"]),
            (
                "http://a.example:81/x?y=z", .head,
                [
                    ":method: HEAD", ":scheme: http", ":authority: a.example:81", ":path: /x?y=z",
                ]
            ),
            ("https://a.example?q", .get, [":method: GET", ":scheme: https", ":authority: a.example", ":path: /?q"]),
            (
                "https://[::1]:8443/#f", .options,
                [
                    ":method: OPTIONS", ":scheme: https", ":authority: [::1]:8443", ":path: /",
                ]
            ),
            ("https://u:p@a.example/", .get, [":method: GET", ":scheme: https", ":authority: a.example", ":path: /"]),
        ]
        for row in rows { #expect(try Self.lines(Self.request(row.url, row.method)) == row.fields) }
    }

    @Test("fields that are specific to HTTP/1.1 are left out, also Host, and names are in lower case", .rows("H-11"))
    func connectionFields() throws {
        let header: Header = [
            "Host": "b.example", "Connection": "X-Custom", "Keep-Alive": "timeout=5", "Proxy-Connection": "close",
            "Transfer-Encoding": "chunked", "Upgrade": "h2c", "TE": "gzip", "Content-Length": "7", "Expect": "x",
            "Proxy-Authorization": "Basic eA==", "X-Custom": "KEPT", "ACCEPT": "*/*",
        ]
        #expect(
            try Self.lines(Self.request("https://a.example/", .get, header)).dropFirst(4) == [
                "x-custom: KEPT", "accept: */*",
            ])
    }

    @Test("white space around values, which HTTP/1.1 allows, is left out", .rows("H-11"))
    func whiteSpace() throws {
        let header: Header = ["X-A": " \t a b\t ", "X-B": "  "]
        #expect(try Self.lines(Self.request("https://a.example/", .get, header)).suffix(2) == ["x-a: a b", "x-b: "])
    }

    @Test("no combination of fields results in a malformed request", .rows("H-11"))
    func property() throws {
        var random = SplitMix64(state: Mutator.seed)
        let names = [
            "Host", "connection", "KEEP-ALIVE", "Proxy-Connection", "transfer-encoding", "Upgrade", "te", "Te",
            "Content-Length", "Cookie", "Accept", "X-Ü", "x y", "Authorization", "Via", "trailer",
        ]
        let values = ["trailers", "gzip, trailers", "close", "5", "a=1", "", "x\r\ny", "ü", "Trailers"]
        var valid = 0
        for _ in 0..<2_000 {
            var header = Header.empty
            for _ in 0..<Int.random(in: 0...8, using: &random) {
                let name = names.randomElement(using: &random) ?? ""
                header.add(Field(name: Field.Name(name), value: values.randomElement(using: &random) ?? ""))
            }
            let request = try Self.request("https://a.example/", .get, header)
            guard (try? request.validate()) != nil else { continue }
            valid += 1
            let fields = OutgoingFields(request, length: 0)
            var encoder = HPACKEncoder()
            var block: [UInt8] = []
            encoder.encode(fields, into: &block)
            // Our own server accepts what it receives, and it rejects every malformed field.
            var peer = HTTP2Peer(.server)
            peer.receive(WireFrame.headers(block, on: 1, ends: true))
            #expect(peer.log == ["1 GET /", "1 ended"], "\(header)")
            let sent = try Self.lines(fields).dropFirst(4)
            #expect(!sent.contains { $0.hasPrefix("host:") || $0.hasPrefix("content-length:") })
            #expect(sent.count { $0.hasPrefix("cookie:") } <= 1)
        }
        #expect(valid > 500)
    }

    @Test("TE is sent as trailers, in any case, and not otherwise", .rows("H-11", "H-48"))
    func te() throws {
        for (value, isSent) in [("trailers", true), ("Trailers", true), ("gzip", false), ("trailers, gzip", false)] {
            let lines = try Self.lines(Self.request("https://a.example/", .post, ["TE": value]))
            #expect(lines.contains("te: trailers") == isSent)
            #expect(lines.count { $0.hasPrefix("te:") } == (isSent ? 1 : 0))
        }
    }

    @Test("Cookie is one field", .rows("H-49"))
    func cookies() throws {
        let header = Header(
            Field(name: .cookie, value: "a=1"), Field(name: .accept, value: "*/*"), Field(name: .cookie, value: "b=2"))
        let lines = try Self.lines(Self.request("https://a.example/", .get, header)).dropFirst(4)
        #expect(lines == ["cookie: a=1; b=2", "accept: */*"])
    }

    @Test("the length of the body is announced if it is known, and 100 is expected if a body follows", .rows("H-12"))
    func bodies() throws {
        var request = try Self.request("https://a.example/", .post, body: .data(Data("abc".utf8)))
        #expect(try Self.lines(request, length: 3).dropFirst(4) == ["content-length: 3"])
        #expect(try Self.lines(request, length: nil).dropFirst(4) == [])
        request.continueTimeout = .seconds(1)
        #expect(try Self.lines(request, length: 3).dropFirst(4) == ["content-length: 3", "expect: 100-continue"])
        #expect(try Self.lines(Self.request("https://a.example/", .post)).dropFirst(4) == ["content-length: 0"])
        request.continueTimeout = nil
        request.trailers = PreparedRequest.Trailers(["Digest": "x"])
        #expect(try Self.lines(request, length: 3).dropFirst(4) == ["trailer: Digest"])
    }

    @Test("a field of the executor is added unless the request has it", .rows("H-11"))
    func additions() throws {
        let additions = [Field(name: .accept, value: "*/*"), Field(name: .userAgent, value: "x")]
        let request = try Self.request("https://a.example/", .get, ["accept": "text/html"])
        #expect(try Self.lines(request, adding: additions).dropFirst(4) == ["accept: text/html", "user-agent: x"])
    }

    @Test("secret fields are never indexed: in the request, the additions or the trailers", .rows("H-6"))
    func secrets() throws {
        let request = try Self.request("https://a.example/", .get, ["x-key": "1", "x-open": "2"])
        let additions = [Field(name: "x-token", value: "3"), Field(name: "x-agent", value: "4")]
        let isSecret = { (name: Field.Name) in ["x-key", "x-token"].contains(name.rawValue) }
        let fields = OutgoingFields(request, length: 0, adding: additions, isSecret: isSecret)
        let trailers = OutgoingFields(trailers: ["x-token": "5", "x-sum": "6"], isSecret: isSecret)
        var encoder = HPACKEncoder()
        var block: [UInt8] = []
        encoder.encode(fields, into: &block)
        encoder.encode(trailers, into: &block)
        // The first byte of a literal that is never indexed, with a literal name, is 0x10 (RFC 7541 §6.2.3).
        let secrets = block.indices.dropLast().count { block[$0] == 0x10 && block[$0 + 1] & 0x7F > 0 }
        #expect(secrets == 3)
    }

    @Test("a secret whose name is in the static table is stored in no table", .rows("H-6"))
    func secretsWithStaticNames() throws {
        var decoder = HPACKDecoder()
        let table = try (1...61).map { try decoder.decode([0x80 | UInt8($0)])[0] }
        let names = Set(table.map { Field.Name(String(decoding: $0.name, as: UTF8.self)) })
        let secrets: Set<Field.Name> = [.authorization, .cookie, .proxyAuthorization, .setCookie]
        #expect(names.filter { Redaction.standard.isSecret($0) } == secrets)
        for name in secrets {
            let field = Field(name: name, value: String(repeating: "x", count: 30))
            let fields = OutgoingFields(try Self.request(), length: 0, adding: [field]) {
                Redaction.standard.isSecret($0)
            }
            var encoder = HPACKEncoder()
            var blocks: [[UInt8]] = [[], [], []]
            for index in blocks.indices { encoder.encode(fields, into: &blocks[index]) }
            // The first block stores the authority. If a value were stored, the third block would be shorter.
            let withoutField = OutgoingFields(try Self.request(), length: 0)
            var rest: [UInt8] = []
            encoder.encode(withoutField, into: &rest)
            #expect(blocks[2].count > rest.count + 20, "\(name)")
        }
    }

    @Test("responses and trailers leave out the fields of a connection, too", .rows("H-11"))
    func responses() throws {
        let header: Header = ["Connection": "close", "TE": "trailers", "Upgrade": "h2c", "Server": "x"]
        #expect(try Self.lines(OutgoingFields(status: 200, header)) == [":status: 200", "server: x"])
        #expect(try Self.lines(OutgoingFields(trailers: header)) == ["server: x"])
    }
}
