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

    @Test(
        "compiled code contains every Swift snippet of an article, line for line",
        arguments: [
            ("Adaptors", "RequestsMiddleware"), ("Retrying", "Requests"), ("CachingResponses", "RequestsMiddleware"),
            ("KeepingCookies", "RequestsMiddleware"), ("ObservingRequests", "RequestsMiddleware"),
            ("ProtectingServersAndClients", "RequestsMiddleware"), ("RequestsMiddleware", "RequestsMiddleware"),
            ("SigningIn", "RequestsMiddleware"), ("SigningRequests", "RequestsMiddleware"),
            ("WritingMiddleware", "Requests"), ("Recording", "Requests"),
        ])
    func snippets(article: String, module: String) throws {
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
        let articles = try Repository.here.swiftFiles(in: "Tests/RequestsMiddlewareTests")
            .filter { $0.path.contains("Article") }
        let adaptors = try Repository.here.swiftFiles(in: "Tests/Fixtures/Adaptors")
        let compiled = (articles + adaptors).map { (imports: $0.imports, lines: lines($0)) }
        let path = "Sources/\(module)/\(module).docc/\(article).md"
        let snippets = try Self.snippets(of: Repository.here.text(of: path))
        try #require(snippets.count >= 2)
        for text in snippets {
            let snippet = Repository.SourceFile(path: path, text: text)
            let code = lines(snippet)
            #expect(
                compiled.contains { $0.imports.isSuperset(of: snippet.imports) && $0.lines.contains(code) }, "\(text)")
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
