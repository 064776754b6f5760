import Foundation
import Testing

/// The links of documents lead somewhere, and the index of the decisions agrees with the records.
@Suite("Documents")
struct DocumentsTests {
    @Test("every link of a document to a file leads to one")
    func links() throws {
        for path in Repository.here.documents() where !path.hasPrefix("Sources") {
            let folder = Repository.here.root.appending(path: path).deletingLastPathComponent()
            for match in try Repository.here.text(of: path).matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/) {
                let target = String(match.1)
                guard !target.contains("://") else { continue }
                let file = folder.appending(path: target).standardizedFileURL.path
                #expect(FileManager.default.fileExists(atPath: file), "\(path): \(target)")
            }
        }
    }

    @Test("the pages that the README links have no links that only DocC resolves")
    func plainPages() throws {
        let pages = try Repository.here.text(of: "README.md").matches(of: /\]\(([^)#\s]+\.md)/).map { String($0.1) }
        try #require(pages.count >= 5)
        for page in pages {
            let text = try Repository.here.text(of: page).replacing("```", with: "")
            #expect(!text.contains("<doc:") && !text.contains("``"), "\(page)")
        }
    }

    @Test("no paragraph of an article is repeated in another one")
    func repetitions() throws {
        var pages: [String: String] = [:]
        for path in Repository.here.documents() where path.contains(".docc/") {
            for paragraph in try Repository.here.text(of: path).components(separatedBy: "\n\n") {
                guard paragraph.count >= 120, !paragraph.hasPrefix("```") else { continue }
                #expect(pages.updateValue(path, forKey: paragraph) == nil, "\(path): \(paragraph.prefix(60))")
            }
        }
        #expect(pages.count >= 100)
    }

    @Test("the index of the decisions has one row for each record, with its title")
    func decisions() throws {
        let index = try Repository.here.text(of: "Docs/Decisions/README.md").split(separator: "\n")
            .filter { $0.hasPrefix("|") }
        let records = Repository.here.documents().filter { $0.hasPrefix("Docs/Decisions/0") }
        #expect(!records.isEmpty)
        for path in records {
            let name = try #require(path.split(separator: "/").last)
            let heading = try #require(try Repository.here.text(of: path).split(separator: "\n").first)
            let rows = index.filter { $0.contains("](\(name))") }
            #expect(rows.count == 1, "\(name)")
            #expect(rows.allSatisfy { $0.contains("| \(heading.dropFirst(2)) |") }, "\(name): \(heading)")
        }
    }
}
