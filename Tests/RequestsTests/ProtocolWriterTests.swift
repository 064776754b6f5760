import Requests
import TestSupport
import Testing

/// Writes text with a mark after every delimiter, and reads it back byte by byte.
@Suite("Writing protocol text")
struct ProtocolWriterTests {
    private let api = AnonymousRequestProvider.example

    @Test("a field is one line, whatever mark follows a delimiter", .rows("R-1"), arguments: Marks.behind)
    func fields(mark: String) throws {
        let value = Marks.planted(mark, behind: ":;,=\"\\ ", in: "a: b; c=\"d\\\"\", e f") + mark
        let request = try api.get(.text, from: "/x").adding(headerField: Field(name: "X-A", value: value))
            .adding(headerField: Field(name: "X-B", value: mark + "b")).prepared()
        let head = try RequestHeadWriter.head(of: request, framing: .none)
        let lines = head.split(separator: 0x0A).map { $0.last == 0x0D ? Array($0.dropLast()) : Array($0) }
        #expect(lines.contains(Marks.bytes("X-A: " + value)) && lines.contains(Marks.bytes("X-B: " + mark + "b")))
        #expect(lines.count == 3 + request.header.count)
        for end in ["\r\n", "\n", "\r", "\0"] {
            for text in ["a" + end + mark + "X: y", end + mark, mark + end, "a" + end] {
                expectInvalid(.invalidFieldValue) {
                    try api.get(.text, from: "/x").adding(headerField: Field(name: "X", value: text)).prepared()
                }
                expectInvalid(.invalidFieldName) {
                    try api.get(.text, from: "/x").adding(headerField: Field(name: .init(text), value: "")).prepared()
                }
            }
        }
    }

    /// Returns the bytes of a quoted string, or nil if the quotes end before the text does.
    private func unquoted(_ text: some StringProtocol) -> [UInt8]? {
        var bytes = Array(text.utf8)[...]
        guard bytes.popFirst() == UInt8(ascii: "\""), bytes.popLast() == UInt8(ascii: "\"") else { return nil }
        var result: [UInt8] = []
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "\"") { return nil }
            guard byte == UInt8(ascii: "\\") else {
                result.append(byte)
                continue
            }
            guard let escaped = bytes.popFirst() else { return nil }
            result.append(escaped)
        }
        return result
    }

    @Test("a quoted string ends only at its closing quote", .rows("T-44", "R-1"), arguments: Marks.behind)
    func quoted(mark: String) throws {
        for text in ["\"", "\\", "a\"; b=\"c", "\\\"", "a\\", "\"\\\"", "é\"", ";,="] {
            let value = Marks.planted(mark, behind: "\"\\;,=", in: text)
            #expect(unquoted(FieldValueWriter.quoted(value)) == Marks.bytes(value))
            let type = MediaType(type: .text, subtype: .plain, parameters: ["x": value]).rawValue
            #expect(unquoted(type.dropFirst("text/plain; x=".count)) == Marks.bytes(value))
        }
    }

    @Test("the comment in User-Agent ends at its last parenthesis", .rows("R-1"), arguments: Marks.behind)
    func userAgent(mark: String) {
        let device = Marks.planted(mark, behind: "()\\", in: "a) b (c\\")
        let agent = UserAgent(name: "App", version: "1", device: device, system: "S", systemVersion: "1")
            .afnetworkingFieldValue
        var depth = 0
        var bytes = Array(agent.utf8)[...]
        while let byte = bytes.popFirst() {
            if byte == UInt8(ascii: "\\") { bytes.removeFirst() }
            if byte == UInt8(ascii: "(") { depth += 1 }
            if byte == UInt8(ascii: ")") { depth -= 1 }
            #expect(depth == 0 || depth == 1)
        }
        #expect(depth == 0 && agent.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }

    @Test("one cookie is sent for each name", .rows("HT-10", "T-85"), arguments: Marks.behind)
    func cookies(mark: String) throws {
        var header = Header.empty
        header.set(cookie: try Cookie(name: "b", value: "1"))
        header.set(cookie: try Cookie(name: "a", value: mark + "x"))
        header.set(cookie: try Cookie(name: "c", value: "=" + mark))
        header.set(cookie: try Cookie(name: "a", value: "y" + mark))
        let value = try #require(header[.cookie])
        #expect(Marks.bytes(value) == Marks.bytes("b=1; a=y\(mark); c==\(mark)"))
        #expect(throws: RequestError.InvalidRequest.invalidCookie) { try Cookie(name: "a", value: "x;" + mark + "b=1") }
        #expect(throws: RequestError.InvalidRequest.invalidCookie) { try Cookie(name: "a=" + mark, value: "x") }
        #expect(throws: RequestError.InvalidRequest.invalidCookie) { try Cookie(name: "a", value: "x\r\n" + mark) }
        #expect(throws: Never.self) { try Cookie(name: "a", value: "\u{37E}") }
    }

    @Test(
        "a name in a multipart form stays within its quotes, without control characters",
        .rows("T-44", "PM-49", "D-18", "R-1", "R-7"))
    func multipart() throws {
        let controls = (0..<0x20).map { String(Unicode.Scalar(UInt8($0))) } + ["\u{7F}", "\"", "\r\n"]
        for mark in Marks.behind + [""] {
            for control in controls {
                let name = "a" + control + mark + "b; filename=" + control + mark
                let part = MultipartForm.Part.data(Data([0x61]), name: name, filename: control + mark)
                let body = try api.post(.multipart([part], boundary: "B"), to: "/").prepared().body
                guard case .bytes(let data) = body else {
                    Issue.record("\(body)")
                    return
                }
                let lines = data.split(separator: 0x0A).map { Array($0.last == 0x0D ? $0.dropLast() : $0) }
                let escaped = Self.percentEncoded(control)
                let text = "Content-Disposition: form-data; name=\"a\(escaped)\(mark)b; filename=\(escaped)\(mark)\""
                #expect(lines.count == 6, "\(name.debugDescription)")
                #expect(lines[1] == Marks.bytes(text + "; filename=\"\(escaped)\(mark)\""), "\(name.debugDescription)")
            }
        }
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.utf8.count == 1 ? "%0" + digits : "%" + digits
        }.joined()
    }

    /// Returns the names and values of a query as decoded bytes.
    private func items(_ query: String) -> [[UInt8]] {
        let pairs = Array(query.utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        return pairs.flatMap { pair -> [[UInt8]] in
            pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false).map { text in
                Marks.bytes(PercentEncoding.decode(String(decoding: text, as: UTF8.self)))
            }
        }
    }

    @Test("queries and forms keep names and values separate", .rows("T-20"), arguments: Marks.behind + Marks.doubles)
    func queries(mark: String) throws {
        let name = Marks.planted(mark, behind: "&=+;#?%[]", in: "a&b=c+d;e#f?g%h[i]") + mark
        let expected = [Marks.bytes(name), Marks.bytes(mark + name)]
        let query: QueryItems = [name: mark + name]
        #expect(items(query.encoded()) == expected && query.encoded().utf8.allSatisfy { $0 < 0x7F })
        let target = try api.get(.text, from: "/x").with(query: query).prepared().target
        #expect(items(try #require(target.query)) == expected)
        let form = try api.post(.form(query), to: "/x").prepared().body
        guard case .bytes(let data) = form else {
            Issue.record("\(form)")
            return
        }
        #expect(items(String(decoding: data, as: UTF8.self)) == expected)
        let inner = RequestParameters([(name + "[]", RequestParameters.Value.array([.string(name)]))])
        let nested = try RequestParameters.Format.standard.items(of: RequestParameters([("n", .nested(inner))]))
        let names = nested.map { Marks.bytes($0.name) }
        #expect(names == [Marks.bytes("n[\(name)][]")])
    }

    @Test("a parameter replaces another only if their names are equal byte by byte", .rows("HT-14"))
    func parameterNames() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let other: RequestParameters.Value = .integer(2)
        var parameters = RequestParameters([(composed, RequestParameters.Value.integer(1)), ("K", other)])
        parameters.merge(RequestParameters([(decomposed, RequestParameters.Value.integer(3)), ("\u{212A}", other)]))
        let names = parameters.map { Marks.bytes($0.name) }
        let expected = [composed, "K", decomposed, "\u{212A}"]
        #expect(names == expected.map(Marks.bytes))
        parameters[decomposed] = .integer(5)
        #expect(parameters[composed] == .integer(1) && parameters[decomposed] == .integer(5))
    }

    @Test("a value stays within its path segment", .rows("R-2"), arguments: Marks.behind)
    func paths(mark: String) throws {
        let value = Marks.planted(mark, behind: "/?#%.", in: "../a/b?c#d%2F") + mark
        let path: RequestPath = "/x/\(value)/y"
        let segments = path.encoded.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        #expect(segments.count == 3 && Marks.bytes(PercentEncoding.decode(segments[1])) == Marks.bytes(value))
        #expect(Marks.bytes(path.template) == Marks.bytes("/x/{}/y"))
        let literal = RequestPath("/" + mark + "z")
        let joined = try AnonymousRequestProvider("https://e.com/a/").get(.text, from: literal).prepared()
        #expect(Marks.bytes(PercentEncoding.decode(joined.target.path)) == Marks.bytes("/a/" + mark + "z"))
    }

    @Test("credentials in a URL are split at the first colon", .rows("RQ-24", "R-8"), arguments: Marks.behind)
    func userinfo(mark: String) throws {
        let request = try AnonymousRequestProvider(text: "https://u\(mark):\(mark)p:\(mark)q@e.com/")
            .get(.text, from: "/").prepared()
        let expected = Data("u\(mark):\(mark)p:\(mark)q".utf8).base64EncodedString()
        #expect(request.header[.authorization] == "Basic " + expected)
        #expect(!Marks.holds(request.target.absoluteString, "@"))
    }

    @Test(
        "the wire text has one line for each field, even with secrets revealed", .rows("R-1", "R-8"),
        arguments: Marks.behind)
    func wireText(mark: String) throws {
        var request = PreparedRequest(method: .put, target: try TargetURI("https://e.com/"))
        request.header.add(Field(name: "X-A", value: "a\r\n" + mark + "X-B: b"))
        request.header.add(Field(name: .init("N\r\n" + mark), value: "\n" + mark))
        request.header.add(Field(name: "X-C", value: "Transfer-Encoding: chunked"))
        request.body = .file(path: "/f")
        for text in [request.wireText, request.wireText(secrets: .revealed)] {
            let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
            #expect(lines.count == 7 && !text.utf8.contains(0x0D), "\(text)")
            #expect(lines.contains { $0.elementsEqual("X-C: Transfer-Encoding: chunked".utf8) })
            #expect(!lines.contains { $0.elementsEqual("Transfer-Encoding: chunked".utf8) })
        }
    }

    @Test("values are equal only if their bytes are equal", .rows("R-1"))
    func equality() throws {
        let pairs = [("\u{E9}", "e\u{301}"), (";", "\u{37E}"), ("K", "\u{212A}"), ("`", "\u{1FEF}")]
        for (left, right) in pairs {
            #expect(left == right, "the standard library considers them equal")
            #expect(Field(name: "X", value: left) != Field(name: "X", value: right))
            #expect(HTTPMethod("LIN" + left) != HTTPMethod("LIN" + right))
            #expect(QueryItems.Item(name: left, value: nil) != QueryItems.Item(name: right, value: nil))
            #expect(QueryItems.Item(name: "a", value: left) != QueryItems.Item(name: "a", value: right))
            let target = try TargetURI("https://e.com/")
            #expect(
                PreparedRequest(method: .put, target: target, body: .file(path: left))
                    != PreparedRequest(method: .put, target: target, body: .file(path: right)))
            #expect(RequestPath.reference(left) != RequestPath.reference(right))
        }
        #expect(try Cookie(name: "a", value: "\u{E9}") != Cookie(name: "a", value: "e\u{301}"))
        #expect(Field(name: "x", value: "é") == Field(name: "X", value: "é"))
    }
}
