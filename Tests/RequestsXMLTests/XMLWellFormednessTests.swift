import RequestsXML
import TestSupport
import Testing

@Suite("Well-formed XML")
struct XMLWellFormednessTests {
    static let xml = "http://www.w3.org/XML/1998/namespace"
    static let xmlns = "http://www.w3.org/2000/xmlns/"

    @Test(
        "a violation of Namespaces in XML is an error", .rows("AF-55"),
        arguments: [
            "<a xmlns:x='u' xmlns:y='u' x:b='1' y:b='2'/>",
            "<a xmlns:x='u'><b xmlns:y='&#117;' x:c='' d='' y:c=''/></a>",
            "<x:a xmlns:x='u'><b xmlns:y='v'><c xmlns:y='u' y:n='' x:n=''/></b></x:a>",
            "<a xmlns:y='\(xml)'/>", "<a xmlns:y='\(xmlns)'/>", "<a xmlns='\(xml)'/>", "<a xmlns='\(xmlns)'/>",
            "<a xmlns:xmlns='u'/>", "<a xmlns:xmlns='\(xmlns)'/>", "<a xmlns:xml='u'/>", "<a xmlns:xml=''/>",
            "<a xmlns:y=''/>", "<a xmlns:y='u'><b xmlns:y=''/></a>", "<xmlns:a/>", "<a><b xmlns:x='u'/><x:c/></a>",
            "<a xmlns:x='u'></a><x:b/>", "<?x:y?><a/>", "<a xmlns:é='u' e\u{301}:b=''/>",
        ])
    func namespaces(text: String) {
        guard case .malformed = XMLExecutor(text).problem() else {
            Issue.record("accepted: \(text)")
            return
        }
    }

    @Test("names that Namespaces in XML allows are read", .rows("AF-55"))
    func allowedNamespaces() throws {
        let same = try XMLExecutor("<a xmlns='u' xmlns:x='u' xmlns:y='u' b='1' x:b='2' y:c='3' xml:lang='4'/>").root()
        #expect(same.attributes.count == 7 && same.attributes["b"] == "1" && same.attributes["x:b"] == "2")
        let different = try XMLExecutor("<a xmlns:x='u' xmlns:y='u\u{301}' x:b='1' y:b='2'><xml:c/></a>").root()
        #expect(different.attributes["y:b"] == "2" && different["c"]?.namespace == Self.xml)
        #expect(try XMLExecutor("<a xmlns:xml='\(Self.xml)'/>").root().attributes.count == 1)
        let inner = try XMLExecutor("<a xmlns:x='1'><b xmlns:x='2'><x:c/></b><x:d/></a>").root()
        #expect(inner["b", "c"]?.namespace == "2" && inner["d"]?.namespace == "1")
    }

    @Test(
        "an invalid XML declaration is an error", .rows("AF-55"),
        arguments: [
            "<?xml ?>", "<?xml?>", "<?xml version=''?>", "<?xml version='1'?>", "<?xml version='1.'?>",
            "<?xml version='2.0'?>", "<?xml version='1.0a'?>", "<?xml version=1.0?>", "<?xml version?>",
            "<?xml encoding='utf-8'?>", "<?xml encoding='utf-8' version='1.0'?>",
            "<?xml version='1.0'encoding='utf-8'?>",
            "<?xml version='1.0' encoding=''?>", "<?xml version='1.0' encoding='-utf-8'?>",
            "<?xml version='1.0' encoding='utf 8'?>", "<?xml version='1.0' standalone='maybe'?>",
            "<?xml version='1.0' standalone='Yes'?>", "<?xml version='1.0' standalone='yes' encoding='utf-8'?>",
            "<?xml version=\"1.0'?>", "<?xml version='1.0' version='1.0'?>", "<?xml version='1.0' a='1'?>",
            "<?xml version='1.0'? >", "<?xml version='1.0'", "<?xml version='1.0' ?", "<?xml version='1.0>", "<?XML ?>",
            " <?xml version='1.0'?>", "\u{FEFF}<?xml version='1.0'?>", "<!----><?xml version='1.0'?>",
            "<?xml version='1.0\u{301}'?>", "<?xml version='1.0'\u{301}?>", "<?xml\u{A0}version='1.0'?>", "<?xMl v?>",
        ])
    func declarations(declaration: String) {
        // After a byte order mark, a second one in the text is a character.
        for text in [declaration + "<a/>", "\u{FEFF}" + declaration + "<a/>"].suffix(
            declaration.utf8.starts(with: "\u{FEFF}".utf8) ? 1 : 2)
        {
            guard case .malformed = XMLExecutor(text).problem() else {
                Issue.record("accepted: \(text)")
                continue
            }
        }
    }

    @Test(
        "a valid XML declaration is read", .rows("AF-55"),
        arguments: [
            "<?xml version='1.0'?>", "<?xml version=\"1.0\" ?>", "<?xml\nversion\r\n=\t'1.10' ?>",
            "<?xml version='1.0' encoding='UTF-8'?>", "<?xml version='1.0' standalone='no' ?>",
            "<?xml version='1.0' encoding = \"utf-8\" standalone='yes'?>\n", "<?xmlx?>", "",
        ])
    func allowedDeclarations(declaration: String) throws {
        #expect(try XMLExecutor(declaration + "<a/>").root() == XMLValue("a"))
    }

    @Test("a character reference can have leading zeros, but only the number of a character", .rows("AF-55", "R-75"))
    func references() throws {
        let zeros = String(repeating: "0", count: 100_000)
        let text = "<a b='&#x0000000041;&#\(zeros)66;'>&#x\(zeros)1F600;&#10;&#xD;&amp;&lt;&gt;&quot;&apos;</a>"
        let root = try XMLExecutor(text).root()
        #expect(root.attributes["b"] == "AB")
        #expect(Array(root.text.utf8) == Array("😀\n\r&<>\"'".utf8))
        for reference in [
            "#", "#x", "#x 41", "#X41", "#-1", "#+1", "#x110000", "#x\(zeros)110000", "#0", "#x\(zeros)", "#xFFFE",
            "#xB", "#55296", "#18446744073709551681", "#" + String(repeating: "9", count: 400), "#1\u{301}", "AMP",
            "amp\u{301}", "\u{301}amp", "nbsp", "", "#x4G", "#٣",
        ] {
            guard case .malformed = XMLExecutor("<a>&\(reference);</a>").problem(),
                case .malformed = XMLExecutor("<a b='&\(reference);'/>").problem()
            else {
                Issue.record("accepted: \(reference)")
                continue
            }
        }
        #expect(XMLExecutor("<a>&#x41</a>").problem() != nil && XMLExecutor("<a>&#x41").problem() != nil)
    }

    @Test("a combining mark after a delimiter is a separate character, in text and in tags", .rows("AF-55"))
    func marks() throws {
        for mark in ["\u{301}", "\u{200D}", "\u{FE0F}"] {
            let root = try XMLExecutor("<a b='\(mark)' c=\"&amp;\(mark)\">\(mark)<![CDATA[\(mark)]]>\(mark)</a>").root()
            #expect(root.attributes["b"].map { Array($0.utf8) } == Array(mark.utf8))
            #expect(root.attributes["c"].map { Array($0.utf8) } == Array("&\(mark)".utf8))
            #expect(Array(root.text.utf8) == Array((mark + mark + mark).utf8))
            for text in [
                "<a b=\(mark)'1'/>", "<a b='1'\(mark)/>", "<a/\(mark)>",
                "<!--x--\(mark)><a/>", "<a><![CDATA[x]]\(mark)></a>", "<a>&lt\(mark);</a>", "<a></\(mark)a>",
                "<a/>\(mark)", "\(mark)<a/>", "<\u{301}a/>", "<a \u{301}='1'/>", "<a b:\u{301}c='1' xmlns:b='u'/>",
            ] {
                guard case .malformed = XMLExecutor(text).problem() else {
                    Issue.record("accepted: \(text.debugDescription)")
                    continue
                }
            }
        }
    }

    @Test("names are compared by code point: canonically equivalent names are different", .rows("AF-55"))
    func names() throws {
        let (one, two) = ("\u{E9}", "e\u{301}")
        for text in ["<\(one)></\(two)>", "<\(two)></\(one)>", "<p:\(one) xmlns:p='u'></p:\(two)>"] {
            guard case .malformed = XMLExecutor(text).problem() else {
                Issue.record("accepted: \(text)")
                continue
            }
        }
        let root = try XMLExecutor("<a \(one)='1' \(two)='2'><\(one)/><\(two)>x</\(two)></a>").root()
        #expect(root.attributes.count == 2 && root.attributes[one] == "1" && root.attributes[two] == "2")
        #expect(root[two]?.text == "x" && root.elements(named: one).count == 1)
        #expect(XMLValue(one) != XMLValue(two) && Set([XMLValue(one), XMLValue(two)]).count == 2)
        #expect(XMLValue("a", attributes: [one: ""]) != XMLValue("a", attributes: [two: ""]))
        #expect(XMLValue("a", content: [.text(one)]) != XMLValue("a", content: [.text(two)]))
        #expect(XMLValue("a", namespace: one) != XMLValue("a", namespace: two))
        #expect(XMLValue("p:\u{301}b").localName.unicodeScalars.count == 2)
    }

    @Test("line ends are normalized to LF before the document is parsed", .rows("AF-55"))
    func lineEnds() throws {
        let text = "<a b='1\r\r\n2\r\n3\r4&#13;&#10;5'>1\r\r\n2\r\n\r3\n\r<![CDATA[\r\r\n]]>\r</a\r\n>\r"
        let root = try XMLExecutor(text).root()
        #expect(root.attributes["b"].map { Array($0.utf8) } == Array("1  2 3 4\r\n5".utf8))
        #expect(Array(root.text.utf8) == Array("1\n\n2\n\n3\n\n\n\n\n".utf8))
        #expect(XMLExecutor("<a>\r\r\n\n é\u{301}&</a>").problem() == .malformed(line: 4, column: 5))
    }

    @Test("lone surrogates and an odd number of bytes in UTF-16 are errors", .rows("AF-55"))
    func utf16() throws {
        func units(_ text: String) -> [UInt8] { text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } }
        let mark: [UInt8] = [0xFE, 0xFF]
        #expect(try XMLExecutor(mark + units("<?xml version='1.0' encoding='x'?><a>😀</a>")).root().text == "😀")
        #expect(try XMLExecutor(units("<a>é</a>"), type: "text/xml; charset=UTF-16BE").root().text == "é")
        for bytes in [
            mark + units("<a>") + [0xD8, 0x3D] + units("</a>"), mark + units("<a>") + [0xDE, 0x00] + units("</a>"),
            mark + units("<a/>") + [0x00], mark + units("<?xml ?><a/>"), mark + mark + units("<a/>"), mark,
        ] {
            guard case .malformed = XMLExecutor(bytes).problem() else {
                Issue.record("accepted: \(bytes)")
                continue
            }
        }
    }

    @Test("attributes can be written as a literal, iterated, and removed with nil")
    func attributes() throws {
        var element = XMLValue("a", attributes: ["b": "1", "c": "<\"\n"])
        #expect(element.description == "<a b=\"1\" c=\"&lt;&quot;&#10;\"/>")
        #expect(element.attributes.map(\.name).sorted() == ["b", "c"] && element.attributes.count == 2)
        element.attributes["b"] = nil
        element.attributes["d"] = "2"
        #expect(element.attributes == XMLValue.Attributes(["c": "<\"\n", "d": "2"]) && !element.attributes.isEmpty)
    }
}
