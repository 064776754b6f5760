import RequestsXML
import TestCorpora
import TestSupport
import Testing

private let api = AnonymousRequestProvider("https://e.com")
private let declaration = "<?xml version=\"1.0\" encoding=\"utf-8\"?>"

/// Returns the document that is sent for `value`, without its declaration.
private func written(_ value: XMLValue) throws -> String {
    guard case .bytes(let data) = try api.put(.xml(value), to: "/").prepared().body else { return "no bytes" }
    let text = String(decoding: data, as: UTF8.self)
    #expect(text.hasPrefix(declaration))
    return String(text.dropFirst(declaration.count))
}

private func problem(_ value: XMLValue) throws -> XMLValue.WritingError? {
    let error = #expect(throws: RequestError.self) { try api.put(.xml(value), to: "/").prepared() }
    #expect(error?.reason == .bodyEncodingFailed && error?.mayHaveReachedServer == false)
    return error?.underlying as? XMLValue.WritingError
}

@Suite("XML bodies")
struct XMLWritingTests {
    @Test("an element is sent as a document with its media type", .rows("AF-56"))
    func body() throws {
        let request = try api.put(.xml(XMLValue("a", content: [.text("é<&")])), to: "/").prepared()
        #expect(request.header[.contentType] == "application/xml; charset=utf-8")
        #expect(try written(XMLValue("a", content: [.text("é<&")])) == "<a>é&lt;&amp;</a>")
        let typed = try api.put(.xml(XMLValue("a"), as: "application/atom+xml"), to: "/").prepared()
        #expect(typed.header[.contentType] == "application/atom+xml")
    }

    @Test("the builder lists elements and text, with conditions and loops", .rows("AF-56"))
    func builder() throws {
        func query(_ names: [String], depth: Int?) -> XMLValue {
            XMLValue("D:propfind", namespace: "DAV:", attributes: ["id": "1"]) {
                XMLValue("D:prop") {
                    for name in names { XMLValue("D:\(name)") }
                }
                if let depth { XMLValue("depth") { "\(depth)" } }
                if names.isEmpty { "none" } else { XMLValue("c:n", namespace: "urn:c") { "x" } }
            }
        }
        #expect(
            try written(query(["etag", "size"], depth: 1)) == """
                <D:propfind xmlns:D="DAV:" id="1"><D:prop><D:etag/><D:size/></D:prop><depth>1</depth>\
                <c:n xmlns:c="urn:c">x</c:n></D:propfind>
                """)
        #expect(
            try written(query([], depth: nil)) == "<D:propfind xmlns:D=\"DAV:\" id=\"1\"><D:prop/>none</D:propfind>")
        let copied = XMLValue("b") { query([], depth: 2).content }
        #expect(copied.elements.map(\.name) == ["D:prop", "depth"])
    }

    @Test("namespaces are declared where they are missing, and only there", .rows("AF-56"))
    func namespaces() throws {
        let inner = XMLValue("b", namespace: "u")
        #expect(
            try written(XMLValue("a", namespace: "u") { inner }) == "<a xmlns=\"u\"><b/></a>")
        #expect(try written(XMLValue("a") { inner }) == "<a><b xmlns=\"u\"/></a>")
        #expect(
            try written(XMLValue("a", namespace: "u") { XMLValue("b", namespace: "") })
                == "<a xmlns=\"u\"><b xmlns=\"\"/></a>")
        let declared = XMLValue("p:a", namespace: "u", attributes: ["xmlns:p": "u", "p:x": "1"]) {
            XMLValue("p:b", namespace: "v")
            XMLValue("p:c", namespace: "u")
        }
        #expect(
            try written(declared) == "<p:a p:x=\"1\" xmlns:p=\"u\"><p:b xmlns:p=\"v\"/><p:c/></p:a>")
        let read = try XMLValue(parsing: Data(try written(declared).utf8))
        #expect(read["b"]?.namespace == "v" && read["c"]?.namespace == "u")
        #expect(declared.description == (try written(declared)))
    }

    @Test(
        "an element that is not XML is a typed error before anything is sent", .rows("R-75", "AF-56"),
        arguments: [
            (XMLValue("a b"), .invalidName("a b")), (XMLValue(""), .invalidName("")),
            (XMLValue("a/><b"), .invalidName("a/><b")), (XMLValue("a:b:c"), .invalidName("a:b:c")),
            (XMLValue("1a"), .invalidName("1a")), (XMLValue(":a"), .invalidName(":a")),
            (XMLValue("a\u{37E}"), .invalidName("a\u{37E}")),
            (XMLValue("a", attributes: ["x=\"1\" y": "2"]), .invalidName("x=\"1\" y")),
            (XMLValue("p:a"), .undeclaredPrefix("p")),
            (XMLValue("a", attributes: ["p:x": "1"]), .undeclaredPrefix("p")),
            (XMLValue("a", content: [.text("\0")]), .forbiddenCharacter("\0")),
            (XMLValue("a", attributes: ["x": "\u{FFFE}"]), .forbiddenCharacter("\u{FFFE}")),
            (XMLValue("a", namespace: "\u{1}"), .forbiddenCharacter("\u{1}")),
            (XMLValue("a", namespace: "u", attributes: ["xmlns": "v"]), .invalidNamespace("u")),
            (XMLValue("p:a", namespace: ""), .invalidNamespace("")),
            (XMLValue("xml:a", namespace: "u"), .invalidNamespace("u")),
            (XMLValue("xmlns:a", namespace: "u"), .invalidNamespace("u")),
            (
                XMLValue("a", attributes: ["xmlns:p": "u", "xmlns:q": "u", "p:x": "1", "q:x": "2"]),
                .repeatedAttribute("q:x")
            ),
        ] as [(XMLValue, XMLValue.WritingError)])
    func invalid(value: XMLValue, expected: XMLValue.WritingError) throws {
        #expect(try problem(value) == expected)
        #expect(try problem(XMLValue("r") { value }) == expected)
        #expect(!"\(expected)".isEmpty && !"\(expected)".contains("\0"))
    }

    @Test("elements can be nested 512 deep, and no deeper", .rows("R-75"))
    func depth() throws {
        var value = XMLValue("a")
        for _ in 1..<XMLValue.maximumDepth { value = XMLValue("a", content: [.element(value)]) }
        #expect(try XMLValue(parsing: Data(try written(value).utf8), depth: 512) == value)
        #expect(try problem(XMLValue("a", content: [.element(value)])) == .tooDeep(limit: 512))
    }

    @Test("every document that was read is written as an equal one", .rows("R-72"))
    func roundTrip() throws {
        var generator = XMLGenerator(seed: 40)
        for _ in 0..<300 {
            let value = try XMLValue(parsing: Data(generator.document().utf8))
            #expect(try XMLValue(parsing: Data(try written(value).utf8)) == value)
        }
    }

    @Test("a document is parsed from its bytes, and the body of an error as XML by its content type", .rows("AF-55"))
    func parsing() throws {
        let latin = Data("<?xml version='1.0' encoding='iso-8859-1'?><a>".utf8) + [0xE9] + Data("</a>".utf8)
        #expect(try XMLValue(parsing: latin).text == "é")
        #expect(throws: XMLValue.SyntaxError.malformed(line: 1, column: 1)) { try XMLValue(parsing: Data("{}".utf8)) }
        #expect(throws: XMLValue.SyntaxError.documentType) { try XMLValue(parsing: Data("<!DOCTYPE a><a/>".utf8)) }
        #expect(throws: XMLValue.SyntaxError.tooDeep(limit: 1)) {
            try XMLValue(parsing: Data("<a><b/></a>".utf8), depth: 1)
        }
        func code(_ type: String?, _ text: String) throws -> String? {
            let head = ResponseHead(
                status: 404, header: Header(type.map { [Field(name: .contentType, value: $0)] } ?? []),
                target: try TargetURI("https://e.com"))
            return RequestError(.unacceptableStatus, response: head, body: Data(text.utf8)).bodyXML?["Code"]?.text
        }
        let body = "<Error><Code>NoSuchKey</Code></Error>"
        for type in ["application/xml", "text/xml; charset=utf-8", "application/problem+xml"] {
            #expect(try code(type, body) == "NoSuchKey")
        }
        for type in ["application/json", "text/html", nil] { #expect(try code(type, body) == nil) }
        #expect(try code("application/xml", "<Error>") == nil && RequestError(.cancelled).bodyXML == nil)
    }
}
