import Foundation
import Testing

@Suite("The snippets of the README")
struct ReadmeSnippetTests {
    @Test("compiled code contains every Swift snippet, line for line")
    func compiled() throws {
        let compiled = try ["Tests/ReadmeTests", "Tests/Fixtures"].flatMap(Repository.here.swiftFiles)
        let snippets = try Self.snippets(of: Repository.here.text(of: "README.md"))
        try #require(snippets.count >= 2)
        for snippet in snippets {
            #expect(compiled.contains { $0.text.contains(snippet) }, "\(snippet)")
        }
    }

    @Test(
        "each article contains the declarations that a program takes from it, line for line",
        arguments: [("FirstDay/Articles", "Requests"), ("Adaptors/Adaptors", "RequestsMiddleware")])
    func articles(program: String, module: String) throws {
        let blocks = try Repository.here.text(of: "Tests/Fixtures/\(program).swift")
            .components(separatedBy: "// Article: ").dropFirst()
        #expect(blocks.count >= 2)
        for block in blocks {
            let lines = block.split(separator: "\n", maxSplits: 1)
            let article = try Repository.here.text(of: "Sources/\(module)/\(module).docc/\(lines[0])")
            // A program's tests are in another module, so its declarations are `package`.
            let code = lines[1].trimmingCharacters(in: .whitespacesAndNewlines).replacing("package ", with: "")
            #expect(article.contains("```swift\n\(code)\n```"), "\(lines[0]): \(code)")
        }
    }

    /// The articles, by path, that contain Swift.
    private static let pathsOfArticles = Repository.here.documents().filter { path in
        path.contains(".docc/") && (try? Repository.here.text(of: path))?.contains("```swift\n") == true
    }

    /// The beginnings of the snippets that no compiled code contains, with the reasons.
    private static let leftOut = [
        ".package(path:": "a part of a manifest, which the compiler reads only as a whole",
        "URLSession.shared.perform(": "a call of Requests 0.3.2; ReadmeV032Mode5Tests compiles the README of it",
        "do throws(RequestError) {\n    return try await library.perform(Books.titled(title))\n} catch where":
            "the formatter writes `catch  where`",
        "import RequestsConformance": "the form of OwnExecutorTests of the shop, whose executor has more deviations",
    ]

    @Test("compiled code contains every Swift snippet of an article, line for line", arguments: pathsOfArticles)
    func snippets(path: String) throws {
        // The indentation of a snippet, and the commas after its lines, depend on the code around it.
        func lines(_ file: Repository.SourceFile) -> String {
            let lines = file.lines.map { line in
                // A fixture is another module of the package.
                let line = line.trimmingCharacters(in: .whitespaces).replacing("package ", with: "")
                return line.hasSuffix(",") ? String(line.dropLast()) : line
            }
            // The imports of a compiled file are at its top, not beside its snippets, and are compared separately.
            return "\n" + lines.filter { !$0.isEmpty && !$0.hasPrefix("import ") }.joined(separator: "\n") + "\n"
        }
        let targets = ["ReadmeTests", "RequestsMiddlewareTests", "RequestsMockTests"]
        let articles = try targets.flatMap { try Repository.here.swiftFiles(in: "Tests/\($0)") }
            .filter { $0.path.contains("Article") }
        let programs = try ["Adaptors", "FirstDay", "Shop"]
            .flatMap { try Repository.here.swiftFiles(in: "Tests/Fixtures/\($0)") }
        let compiled = (articles + programs).map { (imports: $0.imports, lines: lines($0)) }
        let snippets = try Self.snippets(of: Repository.here.text(of: path))
        for text in snippets where !Self.leftOut.keys.contains(where: text.hasPrefix) {
            let snippet = Repository.SourceFile(path: path, text: text)
            let code = lines(snippet)
            #expect(
                compiled.contains { $0.imports.isSuperset(of: snippet.imports) && $0.lines.contains(code) }, "\(text)")
        }
    }

    @Test("the articles with Swift are found, and each snippet that is left out is in one")
    func omissions() throws {
        #expect(Self.pathsOfArticles.count >= 20)
        let snippets = try Self.pathsOfArticles.flatMap { try Self.snippets(of: Repository.here.text(of: $0)) }
        for beginning in Self.leftOut.keys {
            #expect(snippets.count { $0.hasPrefix(beginning) } == 1, "\(beginning)")
        }
    }

    @Test("each adaptor to a package has at most eighty lines")
    func adaptors() throws {
        let article = try Repository.here.text(of: "Sources/RequestsMiddleware/RequestsMiddleware.docc/Adaptors.md")
        let sections = article.components(separatedBy: "\n## swift-").dropFirst()
        #expect(sections.count == 6)
        for section in sections {
            let declarations = try Self.snippets(of: section).filter { $0.hasPrefix("nonisolated ") }
            let count = declarations.reduce(0) { $0 + $1.split(separator: "\n").count }
            #expect((1...80).contains(count), "\(section.prefix { $0 != "\n" }) has \(count)")
        }
    }

    @Test("the article's middleware that adds a field, measures and retries once has 15 lines")
    func middleware() throws {
        let article = try Repository.here.text(of: "Sources/Requests/Requests.docc/WritingMiddleware.md")
        let snippet = try Self.snippets(of: article).first { $0.hasPrefix("struct Measuring: Middleware") }
        #expect(try #require(snippet).split(separator: "\n", omittingEmptySubsequences: false).count == 15)
    }

    @Test("the README has less than 300 lines, its first program three, and every snippet at most 40")
    func length() throws {
        let readme = try Repository.here.text(of: "README.md")
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count < 300)
        let lengths = try Self.snippets(of: readme).map { $0.split(separator: "\n").count }
        #expect(lengths.first == 3)
        #expect(lengths.allSatisfy { $0 <= 40 })
    }

    @Test("CI runs the two commands that the README names", arguments: ["swift run requests-tour", "swift test"])
    func commands(command: String) throws {
        #expect(try Repository.here.text(of: "README.md").contains("`\(command)`"))
        let lines = try Repository.here.text(of: ".ci/run").split(separator: "\n")
        #expect(lines.contains { $0 == command })
    }

    static func snippets(of text: String) throws -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
    }
}
