import Foundation
import Testing

/// Documentation and messages use the terms of RFC 9110 and of the platform (Docs/Contributing.md).
@Suite("Words")
struct WordsTests {
    /// Phrases to avoid, each with the term to use instead.
    static let phrases: [(phrase: String, term: String)] = [
        ("answers", "responds, returns"), ("an answer", "a response"), ("the answer", "the response"),
        ("unasked", "unsolicited"), ("are told of", "receive, are notified of"),
        ("came about", "was established"), ("come about", "be established"), ("comes of", "results in"),
        ("came of", "resulted in"), ("becomes of", "the result of"), ("goes out", "is sent"),
        ("puts out", "writes"), ("hands over", "delivers"), ("handed over", "delivered"),
        ("hands back", "returns"), ("handed back", "returned"), ("hands everything back", "defers"),
        ("undone", "decoded"), ("undoes", "decodes"), ("undo a coding", "decode"), ("could not be had", "unavailable"),
        ("lets go of", "releases"), ("let go of", "released"), ("letting go of", "releasing"),
        ("where it stays", "in place"), ("for the time of", "during"), ("makes a request ready", "prepares"),
        ("by itself", "automatically"), ("of its own accord", "automatically"),
        ("who waits", "a waiting call"), ("is no redirect", "is not a redirect"), ("nobody", "no client, no one"),
        ("goes on", "continues"), ("go on", "continue"), ("asks for", "requests"), ("asked for", "requested"),
        ("is told", "receives"), ("tells", "reports"), ("stands", "is, is established"), ("borne", "tolerated"),
        ("gives back", "returns"), ("looked at", "checked"), ("takes note", "records"),
    ]

    /// The allowed uses: the file, the phrase, and the reason.
    static let exceptions: [(file: String, phrase: String, reason: String)] = []

    /// The largest number of public top-level types of each product.
    static let typeLimits = [
        "Requests": 70, "RequestsConformance": 20, "RequestsFoundation": 20, "RequestsMiddleware": 20,
        "RequestsMock": 20, "RequestsSocket": 20, "RequestsTestServer": 20, "RequestsURLSession": 20, "RequestsXML": 20,
    ]

    @Test("doc comments and messages use the terms of the field")
    func terms() throws {
        for file in try Repository.here.swiftFiles(in: "Sources") {
            for (index, line) in file.lines.enumerated() {
                let text = line.contains("//") ? String(line) : Self.literals(in: line)
                for (phrase, term) in Self.phrases where Self.contains(phrase, in: text) {
                    let isException = Self.exceptions.contains { file.path.hasSuffix($0.file) && $0.phrase == phrase }
                    #expect(isException, "\(file.path):\(index + 1): “\(phrase)” → “\(term)”")
                }
            }
        }
    }

    @Test("articles and documents use the terms of the field")
    func articles() throws {
        for path in Repository.here.documents() {
            let text = try Repository.here.text(of: path)
            for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
                for (phrase, term) in Self.phrases where Self.contains(phrase, in: String(line)) {
                    let isException = Self.exceptions.contains { path.hasSuffix($0.file) && $0.phrase == phrase }
                    #expect(isException, "\(path):\(index + 1): “\(phrase)” → “\(term)”")
                }
            }
        }
    }

    @Test("the number of public top-level types is within bounds", arguments: typeLimits.keys.sorted())
    func types(target: String) throws {
        let declaration =
            /^(?:@\w+(?:\([^)]*\))? )*public (?:final |indirect )*(?:struct|enum|class|protocol|typealias|actor) (\w+)/
        let names = try Repository.here.swiftFiles(in: "Sources/\(target)").flatMap { file in
            file.lines.compactMap { $0.firstMatch(of: declaration).map { String($0.1) } }
        }
        #expect(!names.isEmpty)
        #expect(names.count <= Self.typeLimits[target] ?? 0, "\(names.sorted())")
    }

    @Test("the scan finds a phrase in documentation and in messages, as whole words only")
    func detection() {
        #expect(Self.contains("hands over", in: "/// Hands over the body."))
        #expect(Self.contains("came about", in: Self.literals(in: #"  detail: "no connection came about","#)))
        #expect(!Self.contains("answers", in: Self.literals(in: "answers.append(answer)")))
        #expect(!Self.contains("by itself", in: "standby itself"))
    }

    /// Returns the text within the quotation marks of a line of code.
    private static func literals(in line: some StringProtocol) -> String {
        line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }.joined(separator: "\n")
    }

    /// Whether `text` contains the words of `phrase` as whole words, in any case.
    private static func contains(_ phrase: String, in text: String) -> Bool {
        guard let range = text.range(of: phrase, options: .caseInsensitive) else { return false }
        let before = range.lowerBound == text.startIndex ? nil : text[text.index(before: range.lowerBound)]
        let after = range.upperBound == text.endIndex ? nil : text[range.upperBound]
        return before?.isLetter != true && after?.isLetter != true
    }
}
