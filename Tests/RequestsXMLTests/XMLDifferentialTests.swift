import RequestsXML
import TestCorpora
import TestSupport
import Testing

/// A comparison with libxml2, which is part of Foundation's `XMLParser`, on generated and mutated documents.
///
/// The reader of this package can be stricter, is never more lenient, and returns the same values.
@Suite("XML compared with Foundation", .timeLimit(.minutes(10)))
struct XMLDifferentialTests {
    /// A fifth of the inputs that other suites use, because libxml2 takes most of the time.
    private let inputs = Mutator.inputs / 5

    @Test("every well-formed document is read, with the values that libxml2 reports", .rows("AF-55", "R-71", "R-72"))
    func generated() throws {
        var generator = XMLGenerator(seed: Mutator.seed)
        for _ in 0..<inputs {
            let text = generator.document()
            #expect(Self.compare(Array(text.utf8)), "not accepted: \(text)")
        }
    }

    @Test("every well-formed document is read in UTF-16 with a byte order mark", .rows("AF-55", "R-72"))
    func utf16() throws {
        var generator = XMLGenerator(seed: Mutator.seed + 2)
        for index in 0..<inputs / 10 {
            let text = generator.document().replacing(/encoding=["'](?:utf|UTF)-8["']/, with: "")
            let isAccepted = Self.compare(Array(text.utf8)) { bytes in
                let units = ("\u{FEFF}" + String(decoding: bytes, as: UTF8.self)).utf16
                return units.flatMap { unit in
                    let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
                    return index.isMultiple(of: 2) ? bytes : bytes.reversed()
                }
            }
            #expect(isAccepted, "not accepted: \(text)")
        }
    }

    @Test(
        "a mutated document that libxml2 rejects is rejected, and others have its values",
        .rows("AF-55", "R-71", "R-72", "R-75"))
    func mutated() throws {
        var generator = XMLGenerator(seed: Mutator.seed + 1)
        let corpus = (0..<300).map { _ in Array(generator.document().utf8) }
        let pieces =
            [
                "<", ">", "/>", "</", "<a", "</a>", "&", ";", "&#", "&#x", "&#x0;", "&foo;", "]]>", "<![CDATA[", "<!--",
                "-->",
                "--", "<?", "?>", "<?xml ", "<?xml version='1.0'?>", "<?xml?>", "=", "'", "\"", ":", "xmlns",
                "xmlns:p='urn:1'",
                " xmlns:xml='u'", " xmlns:q=''", " p:a='1'", " q:a='1'", "\r", "\r\n", "\0", "\u{1}", "\u{FFFE}",
                "\u{FEFF}",
                "\u{301}", "\u{200D}", "<!DOCTYPE a>", "standalone='yes'", "encoding='utf-8'", "version='1.0'",
            ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]]
        var mutator = Mutator(seed: Mutator.seed, corpus: corpus, pieces: pieces)
        var accepted = 0
        for _ in 0..<inputs { accepted += Self.compare(mutator.next()) ? 1 : 0 }
        #expect(accepted > inputs / 100 && accepted < inputs)
    }

    /// Returns whether the reader accepts `bytes`, after comparing the value with the events of Foundation's parser.
    private static func compare(_ bytes: [UInt8], as encoded: ([UInt8]) -> [UInt8] = { $0 }) -> Bool {
        guard let root = try? XMLExecutor(encoded(bytes)).root() else { return false }
        let text = Comment(rawValue: String(decoding: bytes, as: UTF8.self))
        // The printed value reads back as an equal one, so nothing is lost.
        #expect((try? XMLExecutor(root.description).root()) == root, text)
        let parser = XMLParser(data: Data(encoded(harmless(bytes))))
        parser.shouldProcessNamespaces = true
        let builder = Builder()
        parser.delegate = builder
        let isAccepted = parser.parse() && builder.errors.allSatisfy(Self.warnings.contains)
        #expect(isAccepted, "rejected by Foundation with \(builder.errors): \(text)")
        guard isAccepted else { return true }
        #expect(builder.roots == [comparable(root)], text)
        return true
    }

    /// Returns the bytes of a well-formed document with a space in each `<?target?>`.
    ///
    /// Without it Foundation's parser ends the process. `.xml(parsing:)` adds the space too.
    private static func harmless(_ bytes: [UInt8]) -> [UInt8] {
        var (result, remainder) = ([UInt8](), bytes[...])
        while !remainder.isEmpty {
            let marks = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            let mark = marks.first { remainder.starts(with: $0.0.utf8) }
            guard let mark, let end = remainder.firstRange(of: Array(mark.1.utf8)) else {
                result.append(remainder.removeFirst())
                continue
            }
            let isBare = mark.0 == "<?" && !remainder[..<end.lowerBound].contains { $0 <= 0x20 }
            result += remainder[..<end.lowerBound] + (isBare ? [0x20] : []) + remainder[end]
            remainder = remainder[end.upperBound...]
        }
        return result
    }

    /// The codes of libxml2's warnings: a target that begins with “xml”, an unknown version, the value of xml:lang, and
    /// the name of a namespace that is relative or not a URI.
    private static let warnings: Set<Int> = [64, 97, 98, 99, 100]

    /// Returns `element` with only the parts that Foundation's parser reports.
    private static func comparable(_ element: XMLValue) -> XMLValue {
        var result = element
        result.namespace = element.namespace ?? ""
        result.attributes = XMLValue.Attributes()
        for (name, value) in element.attributes where name.utf8.prefix(6).elementsEqual("xmlns:".utf8) == false {
            result.attributes[name] = name.utf8.elementsEqual("xmlns".utf8) ? nil : value
        }
        result.content = element.content.map { node in
            if case .element(let element) = node { .element(comparable(element)) } else { node }
        }
        return result
    }

    /// Builds values from the events of Foundation's parser.
    private final class Builder: NSObject, XMLParserDelegate {
        var roots: [XMLValue] = []
        var errors: [Int] = []
        private var open: [XMLValue] = []
        private var text = ""

        func parser(
            _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String] = [:]
        ) {
            flush()
            let names = attributes.filter { name, _ in
                !name.utf8.elementsEqual("xmlns".utf8) && !name.utf8.starts(with: "xmlns:".utf8)
            }
            open.append(
                XMLValue(
                    qualifiedName ?? elementName, namespace: namespaceURI ?? "", attributes: XMLValue.Attributes(names))
            )
        }

        func parser(
            _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName: String?
        ) {
            flush()
            guard let element = open.popLast() else { return }
            if let last = open.indices.last {
                open[last].content.append(.element(element))
            } else {
                roots.append(element)
            }
        }

        func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
            errors.append((parseError as NSError).code)
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

        func parser(_ parser: XMLParser, foundCDATA block: Data) {
            // libxml2 does not normalize the line ends of CDATA, as XML 1.0 §2.11 requires.
            let lines = block.reduce(into: [UInt8]()) { lines, byte in
                if byte == 0x0A, lines.last == 0x0D { lines.removeLast() }
                lines.append(byte)
            }
            text += String(decoding: lines.map { $0 == 0x0D ? 0x0A : $0 }, as: UTF8.self)
        }

        private func flush() {
            if let last = open.indices.last, !text.utf8.isEmpty { open[last].content.append(.text(text)) }
            text = ""
        }
    }
}
