import Foundation
import Testing

/// Documentation and messages use the terms of RFC 9110 and the platform (Docs/Contributing.md).
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
        ("gives back", "returns"), ("looked at", "checked"), ("takes note", "records"), ("told", "notified"),
        ("ask", "request"), ("asks", "requests"), ("in vain", "without effect"), ("anew", "again, new"),
        ("answered", "responded, handled"), ("give back", "return"), ("given back", "returned"),
        ("on its way", "has not arrived"), ("on their way", "have not arrived"), ("speak", "use"), ("speaks", "uses"),
        ("change of threads", "thread switch"),
    ]

    /// The allowed uses: the file, the phrase, and the reason.
    static let exceptions: [(file: String, phrase: String, reason: String)] = []

    /// The largest number of public top-level types of each product.
    ///
    /// RequestsMiddleware has more: each kind of middleware is a type, with the protocol or the state that it needs.
    static let typeLimits = [
        "Requests": 70, "RequestsConformance": 20, "RequestsFoundation": 20, "RequestsMiddleware": 41,
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
                #expect(!line.hasPrefix("<<<<<<<") && !line.hasPrefix(">>>>>>>"), "\(path):\(index + 1): a conflict")
            }
        }
    }

    @Test("the names of tests use the terms of the field")
    func testNames() throws {
        let name = /@(?:Test|Suite)\("([^"]*)"|^\s+"([^"]*\([A-Z]+-\d[^"]*\))"/
        for file in try Repository.here.swiftFiles(in: "Tests") {
            for (index, line) in file.lines.enumerated() {
                guard let match = line.firstMatch(of: name), let text = match.1 ?? match.2 else { continue }
                for (phrase, term) in Self.phrases where Self.contains(phrase, in: String(text)) {
                    Issue.record("\(file.path):\(index + 1): “\(phrase)” → “\(term)”")
                }
            }
        }
    }

    @Test("no documentation comment begins with a relative clause")
    func subjects() throws {
        let clause = /^\s*\/\/\/ +(?:- \w+: )?(?:What|Who|How|Why)\b/
        for file in try Repository.here.swiftFiles(in: "Sources") {
            for (index, line) in file.lines.enumerated() where line.firstMatch(of: clause) != nil {
                Issue.record("\(file.path):\(index + 1): \(line.trimmingCharacters(in: .whitespaces))")
            }
        }
    }

    @Test("code in articles and in documentation comments is at most 80 columns wide")
    func codeWidth() throws {
        for path in Repository.here.documents() where path.hasPrefix("Sources") {
            let lines = try Repository.here.text(of: path).split(separator: "\n", omittingEmptySubsequences: false)
            Self.checkCode(lines.map(String.init), in: path)
        }
        for file in try Repository.here.swiftFiles(in: "Sources") {
            let comments = file.lines.map { line in
                let text = Substring(line.utf8.drop { $0 == UInt8(ascii: " ") })
                return text.hasPrefix("///") ? String(text.dropFirst(text.hasPrefix("/// ") ? 4 : 3)) : ""
            }
            Self.checkCode(comments, in: file.path)
        }
    }

    @Test("comments are at most 120 columns wide, as code is")
    func commentWidth() throws {
        for file in try Repository.here.swiftFiles(in: "Sources") + Repository.here.swiftFiles(in: "Tests") {
            // Few lines have more bytes than columns are allowed, so few are counted.
            for (index, line) in file.lines.enumerated() where line.utf8.count > 120 {
                guard line.count > 120, line.firstMatch(of: /^\s*\/\//) != nil else { continue }
                Issue.record("\(file.path):\(index + 1)")
            }
        }
    }

    private static func checkCode(_ lines: [String], in path: String) {
        var isCode = false
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("```") {
                isCode.toggle()
            } else if isCode, line.utf8.count > 80 {
                #expect(line.count <= 80, "\(path):\(index + 1)")
            }
        }
    }

    @Test("every public enumeration is nonexhaustive, or a decision says why it is not")
    func enumerations() throws {
        let decision = try Repository.here.text(of: "Docs/Decisions/0027-public-names.md")
        for file in try Repository.here.swiftFiles(in: "Sources") {
            for (index, line) in file.lines.enumerated() {
                // A search for text is faster than a pattern.
                guard line.contains("enum "), let match = line.firstMatch(of: /public (?:indirect )?enum (\w+)/) else {
                    continue
                }
                let isMarked = index > 0 && file.lines[index - 1].contains("@nonexhaustive")
                let isListed = decision.contains(try Regex("[`.]\(match.1)`[^\n]*\\| exhaustive"))
                #expect(isMarked != isListed, "\(match.1) in \(file.path)")
            }
        }
    }

    @Test("no two targets declare a top-level type of the same name")
    func typeNames() throws {
        let declaration =
            /^(?:@\w+(?:\([^)]*\))? )*(?:public |package )?(?:final |indirect )*(?:struct|enum|class|protocol|actor) (\w+)/
        var targets: [String: Set<String>] = [:]
        for file in try Repository.here.swiftFiles(in: "Sources") + Repository.here.swiftFiles(in: "Tests") {
            // Programs as users write them have the names of the README.
            if file.target.hasPrefix("Readme") || file.path.hasPrefix("Tests/Fixtures") { continue }
            for line in file.lines {
                guard let match = line.firstMatch(of: declaration) else { continue }
                targets[String(match.1), default: []].insert(file.target)
            }
        }
        for (name, declaring) in targets where declaring.count > 1 {
            Issue.record("\(name) is declared in \(declaring.sorted())")
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
        var remaining = text[...]
        while let range = remaining.range(of: phrase, options: .caseInsensitive) {
            let before = range.lowerBound == text.startIndex ? nil : text[text.index(before: range.lowerBound)]
            let after = range.upperBound == text.endIndex ? nil : text[range.upperBound]
            if before?.isLetter != true, after?.isLetter != true { return true }
            remaining = remaining[range.upperBound...]
        }
        return false
    }
}
