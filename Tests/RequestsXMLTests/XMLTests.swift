import RequestsXML
import TestSupport
import Testing

private let api = AnonymousRequestProvider("https://e.com")

@Suite("XML responses")
struct XMLTests {
    private func read(_ executor: XMLExecutor, depth: Int = 100) async throws -> XMLValue {
        try await executor.perform(api.get(.xml(depth: depth), from: "/"))
    }

    private func problem(
        _ executor: XMLExecutor, depth: Int = 100, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> XMLValue.SyntaxError {
        let error = await #expect(throws: RequestError.self, sourceLocation: sourceLocation) {
            try await read(executor, depth: depth)
        }
        #expect(error?.reason == .decodingFailed, sourceLocation: sourceLocation)
        return try #require(error?.underlying as? XMLValue.SyntaxError, sourceLocation: sourceLocation)
    }

    @Test("a chain can begin with the decoder of XML")
    func chain() async throws {
        let executor = XMLExecutor("<feed><entry/></feed>")
        #expect(try await executor.perform(api.get(.xml.map { $0.name }, from: "/")) == "feed")
        let count: Request<AnonymousRequestProvider, Int> = api.get(.xml.map { $0.content.count }, from: "/")
        #expect(try await executor.perform(count) == 1)
        #expect(try await executor.perform(api.get(.xml, from: "/")).name == "feed")
    }

    @Test("a document is decoded with its names, namespaces, attributes and text in order", .rows("AF-55", "L18"))
    func value() async throws {
        let root = try await read(
            XMLExecutor(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!-- a feed --><?style none?>
                <feed xmlns:m="urn:m" id="7"><m:title lang="en">A &amp; <b>B</b> <![CDATA[<C>]]> &#xe9;</m:title
                ><entry/><entry n="2">x</entry></feed>
                """))
        #expect(root.name == "feed" && root.namespace == nil && root.attributes["id"] == "7")
        let title = try #require(root["title"])
        #expect(title.name == "m:title" && title.localName == "title" && title.namespace == "urn:m")
        #expect(title.attributes == ["lang": "en"])
        #expect(title.text == "A & B <C> é")
        #expect(title.content == [.text("A & "), .element(XMLValue("b", content: [.text("B")])), .text(" <C> é")])
        #expect(root.elements(named: "entry").map(\.text) == ["", "x"])
        #expect(root["title", "b"]?.text == "B" && root["title", "c"] == nil)
    }

    @Test(
        "two media types of XML are sent in Accept, +xml is accepted too, and others are rejected",
        .rows("AF-55", "AF-56"))
    func types() async throws {
        let request = api.get(.xml, from: "/")
        #expect(try request.prepared().header[.accept] == "application/xml, text/xml;q=0.9")
        for type in ["application/xml", "text/xml; charset=utf-8", "application/rss+xml", "image/svg+XML", nil] {
            #expect(try await XMLExecutor("<a/>", type: type).perform(request) == XMLValue("a"))
        }
        for type in ["text/html", "application/json", "application/xmlx", "application/rss-xml"] {
            let error = await #expect(throws: RequestError.self) {
                try await XMLExecutor("<a/>", type: type).perform(request)
            }
            #expect(error?.reason == .unexpectedContentType)
        }
        let error = await #expect(throws: RequestError.self) { try await read(XMLExecutor("")) }
        #expect(error?.reason == .unexpectedNoContent)
    }

    @Test(
        "a document that is not well-formed is an error, even if Foundation's parser accepts it", .rows("AF-55", "L18"),
        arguments: [
            "<a><b></a>", "<a>\n<b>", "<a/><b/>", "<a>", "a", " ", "<a", "<a b/>", "<a b='1' b='2'/>", "</a>",
            "<a>&foo;</a>", "<a>\u{1}</a>", "<a>\0</a>", "<1/>", "<!-- <a/>", "<?x <a/>", "<![CDATA[x]]>",
            "<!ELEMENT a>",
            "text<a/>", "<a/>text", "<x:a/", "<a>&#0;</a>", "\u{FEFF}", "{\"a\": 1}", "<x:a/>", "<a x:b='1'/>", "<:a/>",
            "<a:/>", "<a b:c:d='1' xmlns:b='u'/>", "<a>]]></a>", "<a b='<'/>", "<a b=1/>", "<a b='1'c='2'/>", "< a/>",
            "<a><!-- -- --></a>", "<a><?xml x?></a>", "<a>&#x110000;</a>", "<a>&#xD800;</a>", "<a>&#+1;</a>",
            "<a>&</a>",
            "<a>&amp</a>", "<a xmlns:b=''/>", "<a><!DOCTYPE b></a>", "<a/><!DOCTYPE a>", "<a></a", "<a b='",
            "<a>\u{FFFE}</a>",
            "<\u{37E}/>", "<?xml version='1.0'?><?xml version='1.0'?><a/>",
        ])
    func malformed(text: String) async throws {
        guard case .malformed = try await problem(XMLExecutor(text)) else {
            Issue.record("accepted: \(text)")
            return
        }
    }

    @Test("the error contains line and column")
    func place() async throws {
        #expect(try await problem(XMLExecutor("<!-- -->\n x<a/>")) == .malformed(line: 2, column: 2))
        #expect(try await problem(XMLExecutor("<a>\r\n\né<b></a>")) == .malformed(line: 3, column: 7))
        #expect(try await problem(XMLExecutor("<a>\n<b c='1' c='2'/></a>")) == .malformed(line: 2, column: 15))
    }

    @Test(
        "a document type is an error before entities are read, in every charset", .rows("AF-55", "AF-56"),
        arguments: [
            #"<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>"#,
            #"<?xml version="1.0"?><!-- c --> <?p?><!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><a/>"#,
            #"<!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]><a>&c;</a>"#,
        ])
    func documentTypes(text: String) async throws {
        #expect(try await problem(XMLExecutor(text)) == .documentType)
        #expect(try await problem(XMLExecutor("\u{FEFF}" + text)) == .documentType)
        for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .isoLatin1] {
            let data = try #require(text.data(using: encoding))
            let name: String? =
                switch encoding {
                case .utf16LittleEndian: "utf-16le"
                case .utf16BigEndian: "utf-16be"
                case .isoLatin1: "iso-8859-1"
                default: nil
                }
            let type = name.map { "application/xml; charset=\($0)" }
            #expect(try await problem(XMLExecutor(data, type: type)) == .documentType)
        }
    }

    @Test("a document of the maximum depth is read, and one more level is an error")
    func depth() async throws {
        func nested(_ count: Int) -> XMLExecutor {
            XMLExecutor(String(repeating: "<a>", count: count) + String(repeating: "</a>", count: count))
        }
        #expect(try await read(nested(5), depth: 5)["a", "a", "a", "a"] == XMLValue("a"))
        #expect(try await problem(nested(6), depth: 5) == .tooDeep(limit: 5))
        #expect(try await problem(nested(100_000)) == .tooDeep(limit: 100))
        #expect(try await problem(nested(1), depth: 0) == .tooDeep(limit: 0))
    }

    @Test(
        "the byte order mark determines the charset, then Content-Type, then the declaration",
        arguments: [
            (Data("<a>é</a>".utf8), nil, "é"),
            (Data([0xEF, 0xBB, 0xBF]) + Data("<a>é</a>".utf8), "text/xml; charset=iso-8859-1", "é"),
            (
                Data([0xFE, 0xFF]) + Data("<a>é</a>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }), "text/xml",
                "é"
            ),
            (
                Data([0xFF, 0xFE]) + Data("<a>é</a>".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }), "text/xml",
                "é"
            ),
            (Data("<a>".utf8) + [0xE9] + Data("</a>".utf8), "text/xml; charset=ISO-8859-1", "é"),
            (Data("<?xml version='1.0' encoding='ISO-8859-1'?><a>".utf8) + [0xE9] + Data("</a>".utf8), "text/xml", "é"),
            (Data("<?xml version='1.0' encoding='windows-1252'?><a>".utf8) + [0x80] + Data("</a>".utf8), nil, "€"),
            (Data("<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>".utf8), "text/xml; charset=utf-8", "é"),
        ] as [(Data, String?, String)])
    func charsets(data: Data, type: String?, text: String) async throws {
        #expect(try await read(XMLExecutor(data, type: type)).text == text)
    }

    @Test("an unsupported charset, or bytes that are invalid in the charset, is an error")
    func wrongCharsets() async throws {
        #expect(
            try await problem(XMLExecutor("<?xml version='1.0' encoding='UTF-7'?><a/>")) == .unsupportedCharset("UTF-7")
        )
        #expect(
            try await problem(XMLExecutor("<a/>", type: "text/xml; charset=ebcdic-cp-us"))
                == .unsupportedCharset("ebcdic-cp-us"))
        for (data, type) in [
            (Data("<a>".utf8) + [0xFF] + Data("</a>".utf8), "text/xml"),
            (Data("<a>é</a>".utf8), "text/xml; charset=us-ascii"),
            (Data([0, 0, 0, 0x3C]), "text/xml"), (Data([0x4C, 0x6F, 0xA7, 0x94]), "text/xml"),
        ] {
            guard case .malformed = try await problem(XMLExecutor(data, type: type)) else {
                Issue.record("accepted: \(type)")
                continue
            }
        }
    }

    @Test("an XMLParser with a delegate of the app parses a checked document", .rows("AF-55"))
    func events() async throws {
        final class Names: NSObject, XMLParserDelegate {
            var names: [String] = []
            func parser(
                _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
                attributes: [String: String] = [:]
            ) {
                names.append(elementName)
            }
        }
        let decoder = ResponseDecoder<[String]>.xml { parser in
            let names = Names()
            parser.delegate = names
            guard parser.parse() else { throw CancellationError() }
            return names.names
        }
        #expect(try await XMLExecutor("<a><b/><c/></a>").perform(api.get(decoder, from: "/")) == ["a", "b", "c"])
        let error = await #expect(throws: RequestError.self) {
            try await XMLExecutor("<!DOCTYPE a><a/>").perform(api.get(decoder, from: "/"))
        }
        #expect(error?.underlying as? XMLValue.SyntaxError == .documentType)
    }

    @Test("a processing instruction without content does not crash Foundation's parser", .rows("AF-55", "R-75"))
    func bareInstructions() async throws {
        final class Instructions: NSObject, XMLParserDelegate {
            var targets: [String] = []
            func parser(_ parser: XMLParser, foundProcessingInstructionWithTarget target: String, data: String?) {
                targets.append("\(target):\(data ?? "")")
            }
        }
        let decoder = ResponseDecoder<[String]>.xml { parser in
            let instructions = Instructions()
            parser.delegate = instructions
            guard parser.parse() else { throw CancellationError() }
            return instructions.targets
        }
        let text = "<?p?><?é?><a><?q?>x<!--<?r?>--><![CDATA[<?s?>]]><?t ?><?u v?><b c='?>'/></a><?x?>"
        let targets = try await XMLExecutor(text).perform(api.get(decoder, from: "/"))
        #expect(targets == ["p:", "é:", "q:", "t:", "u:v", "x:"])
        #expect(try XMLExecutor(text).root().text == "x<?s?>")
    }

    #if os(macOS) || os(Linux)
    @Test("an XMLDocument is made from a checked document", .rows("AF-56"))
    func document() async throws {
        let numbers = ResponseDecoder<XMLDocument>.xmlDocument(options: [.nodeLoadExternalEntitiesAlways])
            .map { document in try document.nodes(forXPath: "//b/@n").compactMap(\.stringValue) }
        let request = api.get(numbers, from: "/")
        #expect(try await XMLExecutor("<a><b n='1'/><b n='2'/></a>").perform(request) == ["1", "2"])
        let whole = try await XMLExecutor("<a><b/></a>").perform(api.get(.xmlDocument(), from: "/"))
        #expect(whole.rootElement()?.name == "a")
        let error = await #expect(throws: RequestError.self) {
            try await XMLExecutor("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>").perform(request)
        }
        #expect(error?.underlying as? XMLValue.SyntaxError == .documentType)
    }
    #endif

    @Test("white space and line ends are normalized (XML 1.0 §2.11, §3.3.3), and names can be non-ASCII")
    func normalization() async throws {
        let root = try await read(
            XMLExecutor("<a b='x\r\n\ty&#10;z'>1\r\n2\r3&#13;<été-1.\u{B7} xml:lang='fr'/>\t</a>\r\n<!--end--><?end?>"))
        #expect(root.attributes == ["b": "x  y\nz"])
        #expect(Array(root.text.unicodeScalars) == Array("1\n2\n3\r\t".unicodeScalars))
        #expect(root["été-1.\u{B7}"]?.attributes == ["xml:lang": "fr"])
    }

    @Test("a namespace applies to its element and the elements in it")
    func namespaces() async throws {
        let root = try await read(
            XMLExecutor(
                "<a xmlns='urn:1' xmlns:p='urn:2'><b xmlns=''><c/></b><p:d><p:e xmlns:p='urn:3'/></p:d><f/></a>"))
        #expect(root.namespace == "urn:1" && root["f"]?.namespace == "urn:1")
        #expect(root["b"]?.namespace == nil && root["b", "c"]?.namespace == nil)
        #expect(root["d"]?.namespace == "urn:2" && root["d", "e"]?.namespace == "urn:3")
    }

    @Test("a document truncated at any byte, or with any byte changed, does not trap")
    func mutations() async throws {
        let text = Array("<?xml version='1.0' encoding='utf-8'?><!--c--><a x='1'>&lt;<![CDATA[y]]><b/></a>".utf8)
        for count in text.indices { _ = try? await read(XMLExecutor(text[..<count])) }
        for index in text.indices {
            for byte: UInt8 in [0, 0x21, 0x26, 0x3C, 0x3E, 0x3F, 0xFF] {
                var changed = text
                changed[index] = byte
                _ = try? await read(XMLExecutor(changed))
            }
        }
        #expect(try await read(XMLExecutor(text)).text == "<y")
    }
}
