import Foundation
import Testing

@Suite("The README's snippets")
struct ReadmeSnippetTests {
    @Test("every Swift snippet stands, line for line, in code that is compiled")
    func compiled() throws {
        let compiled = try ["Tests/ReadmeTests", "Tests/Fixtures"].flatMap(Repository.here.swiftFiles)
        let snippets = try Self.snippets(of: Repository.here.text(of: "README.md"))
        try #require(snippets.count >= 2)
        for snippet in snippets {
            #expect(compiled.contains { $0.text.contains(snippet) }, "\(snippet)")
        }
    }

    @Test("its first program is short: 40 lines at most")
    func length() throws {
        let first = try #require(try Self.snippets(of: Repository.here.text(of: "README.md")).first)
        #expect(first.split(separator: "\n").count <= 40)
    }

    @Test("the two commands it names are the ones that CI runs", arguments: ["swift run requests-tour", "swift test"])
    func commands(command: String) throws {
        #expect(try Repository.here.text(of: "README.md").contains("`\(command)`"))
        let lines = try Repository.here.text(of: ".ci/run").split(separator: "\n")
        #expect(lines.contains { $0 == command })
    }

    static func snippets(of text: String) throws -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
    }
}
