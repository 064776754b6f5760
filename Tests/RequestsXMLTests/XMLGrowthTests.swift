import RequestsXML
import TestSupport
import Testing

/// Documents that are long in one respect.
///
/// Reading a document eight times as long takes about eight times as long, not 64 times.
@Suite("Growth of XML", .serialized, .timeLimit(.minutes(10)))
struct XMLGrowthTests {
    struct Shape: CustomStringConvertible, Sendable {
        let description: String
        /// Returns a document with the part that makes it long, of about the given number of bytes or items.
        let make: @Sendable (Int) -> String
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static func numbered(_ count: Int, _ make: (Int) -> String) -> String { (0..<count).map(make).joined() }

    static let shapes = [
        Shape(description: "attributes") { size in "<a\(numbered(size) { " b\($0)='1'" })/>" },
        Shape(description: "attributes with a prefix and a long namespace") { size in
            "<a xmlns:p='\(many("u", size * 8))'\(numbered(size) { " p:b\($0)='1'" })/>"
        },
        Shape(description: "elements with a prefix and a long namespace") { size in
            "<a xmlns:p='\(many("u", size * 8))'>\(many("<p:b p:c=''/>", size))</a>"
        },
        Shape(description: "attributes of two prefixes") { size in
            "<a xmlns:p='u' xmlns:q='v'\(numbered(size) { " p:b\($0)='' q:b\($0)=''" })/>"
        },
        Shape(description: "namespaces") { size in "<a\(numbered(size) { " xmlns:p\($0)='u\($0)'" })/>" },
        Shape(description: "namespaces declared again") { "<a>" + many("<b xmlns:p='u'/>", $0) + "</a>" },
        Shape(description: "prefixes at the maximum depth") { size in
            "<r xmlns:p='u'>" + many("<a xmlns:q='v'>", 500) + many("<p:b/>", size) + many("</a>", 500) + "</r>"
        },
        Shape(description: "elements") { "<a>" + many("<b/>", $0) + "</a>" },
        Shape(description: "elements with text") { "<a>" + many("<b>x</b>y", $0) + "</a>" },
        Shape(description: "open elements") { many("<a>", $0 * 4) },
        Shape(description: "open elements with attributes") { many("<a b='1' xmlns:p='u'>", $0 * 4) },
        Shape(description: "text") { "<a>" + many("é", $0 * 4) + "</a>" },
        Shape(description: "brackets") { "<a>" + many("]] ", $0 * 2) + "</a>" },
        Shape(description: "line ends") { "<a>" + many("\r\r\n", $0 * 2) + "</a>" },
        Shape(description: "named references") { "<a>" + many("&amp;", $0) + "</a>" },
        Shape(description: "references in an attribute") { "<a b='" + many("&#x41;&lt;", $0) + "'/>" },
        Shape(description: "digits of a reference") { "<a>&#" + many("0", $0 * 4) + "65;</a>" },
        Shape(description: "digits out of range") { "<a>&#" + many("9", $0 * 4) + ";</a>" },
        Shape(description: "ampersands") { "<a>" + many("&", $0 * 4) + "</a>" },
        Shape(description: "a name") { "<a\(many("b", $0 * 4))/>" },
        Shape(description: "marks in names") { size in
            "<a\(many("\u{301}\u{323}", size)) b\(many("\u{301}\u{323}", size))='1'/>"
        },
        Shape(description: "marks in a prefix") { "<a xmlns:a\(many("\u{301}\u{323}", $0))='u'/>" },
        Shape(description: "colons") { "<" + many("a:", $0 * 4) + "/>" },
        Shape(description: "CDATA") { "<a>" + many("<![CDATA[x]]>", $0) + "</a>" },
        Shape(description: "brackets in CDATA") { "<a><![CDATA[" + many("]", $0 * 4) + "]]></a>" },
        Shape(description: "comments") { many("<!--x-->", $0) + "<a/>" },
        Shape(description: "instructions") { many("<?x y?>", $0) + "<a/>" },
        Shape(description: "question marks") { "<?x " + many("?", $0 * 4) + "?><a/>" },
        Shape(description: "white space") { many(" ", $0 * 4) + "<a/>" },
        Shape(description: "a declaration without an end") { "<?xml version='1.0" + many(" ", $0 * 4) },
        Shape(description: "document types") { many("<!DOCTYPE a>", $0) },
    ]

    @Test(
        "the time to read a document is proportional to its length, well-formed or not", .rows("AF-55", "R-71"),
        arguments: shapes
    )
    func documents(shape: Shape) async throws {
        let ratio = try await Growth.ratio(size: 500) { size in
            let executor = XMLExecutor(shape.make(size))
            return { try Self.read(executor) }
        }
        #expect(ratio <= Growth.limit)
    }

    @Test("the time to compare, hash, print and search a value is proportional to its length", .rows("R-71"))
    func values() async throws {
        for text in ["<b c='1'>x</b>", "<b\(Self.many("\u{301}\u{323}", 20)) c='1'/>"] {
            let ratio = try await Growth.ratio(size: 500) { size in
                let executor = XMLExecutor("<a>" + Self.many(text, size) + "</a>")
                let (first, second) = (try executor.root(), try executor.root())
                return {
                    #expect(first == second && first.hashValue == second.hashValue)
                    #expect(first.description.utf8.count > size && first.text.utf8.count + first.elements.count >= size)
                    #expect(first["b", "c"] == nil)
                }
            }
            #expect(ratio <= Growth.limit)
        }
    }

    /// Reads the document, well-formed or not.
    ///
    /// The call blocks the thread whose time is measured.
    private static func read(_ executor: XMLExecutor) throws {
        do {
            _ = try executor.root(depth: .max)
        } catch let error as RequestError {
            guard error.underlying is XMLValue.SyntaxError else { throw error }
        }
    }
}
