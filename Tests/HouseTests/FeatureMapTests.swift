import Foundation
import Testing

@Suite("The feature map")
struct FeatureMapTests {
    /// A row of Docs/Features.md.
    struct Row: Sendable {
        let id: String
        let state: String

        /// The test files that the row names, as `Target/File`, or nil if the row does not say that it is tested.
        var files: [String]? {
            guard state.hasPrefix("tested: ") else { return nil }
            return state.dropFirst("tested: ".count).split(separator: ",").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    static func rows() throws -> [Row] {
        try Repository.here.text(of: "Docs/Features.md").split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 3, cells[0].contains(/^(?:RQ|PM|PF|AF|HT|T|D|R|S|H)-\d+$|^[LC]\d+$/) else {
                return nil
            }
            return Row(id: cells[0], state: cells[2])
        }
    }

    /// The ids that the files name, by `Target/File`.
    static func proven() throws -> [String: Set<String>] {
        var proven: [String: Set<String>] = [:]
        let files = try Repository.here.swiftFiles(in: "Tests") + Repository.here.swiftFiles(in: "Sources")
        // The ids in the examples below do not come from tests.
        for file in files where !file.path.hasSuffix("/FeatureMapTests.swift") {
            let name = "\(file.target)/\(URL(filePath: file.path).deletingPathExtension().lastPathComponent)"
            proven[name, default: []].formUnion(Self.proven(by: file.text))
        }
        return proven
    }

    /// Returns the ids in the traits of tests, and in the rows of scenarios, in `source`.
    static func proven(by source: String) -> Set<String> {
        let scenarios = source.matches(of: /rows: \[([^\]]*)\]/).map(\.1)
        // Every literal of a trait counts, so that a misspelled id fails as one that the map does not list.
        let traits = source.matches(of: /\.rows\(\s*("[^()]*")\s*\)/).flatMap { $0.1.matches(of: /"([^"]*)"/) }
        return scenarios.reduce(into: Set(traits.map { String($0.1) })) { $0.formUnion(ids(in: $1)) }
    }

    static func ids(in text: Substring) -> Set<String> {
        Set(text.matches(of: /\b(?:RQ|PM|PF|AF|HT|T|D|R|S|H)-\d+|\b[LC]\d+\b/).map { String($0.0) })
    }

    @Test("a test names its rows in a trait")
    func naming() {
        #expect(Self.proven(by: #"@Test("a name", .rows("R-42", "H-7")) func a() {}"#) == ["R-42", "H-7"])
        #expect(Self.proven(by: #"@Suite("a name", .serialized, .rows("S-1"))"#) == ["S-1"])
        #expect(Self.proven(by: #"@Test("a name (T-17, L3)")"#).isEmpty)
        #expect(Self.proven(by: #"Scenario("a name", rows: ["C12"])"#) == ["C12"])
        #expect(Self.proven(by: #"@Test("a name", .rows("R42"))"#) == ["R42"])
    }

    @Test("the map contains every id exactly once")
    func complete() throws {
        let ids = try Self.rows().map(\.id)
        #expect(Set(ids).count == ids.count)
        let families = [
            "RQ": 36, "PF": 10, "HT": 38, "T": 89, "D": 23, "R": 75, "PM": 98, "AF": 46, "S": 61, "L": 18, "C": 33,
            "H": 54,
        ]
        for (family, count) in families {
            #expect(ids.filter { $0.prefix { $0.isLetter } == family }.count == count, "\(family)")
        }
    }

    @Test("the files of a tested row, each in its target, contain its id")
    func tested() throws {
        let proven = try Self.proven()
        for row in try Self.rows() {
            for file in row.files ?? [] {
                #expect(proven[file]?.contains(row.id) == true, "\(row.id) in \(file)")
            }
        }
    }

    @Test("the map lists every id that a test names")
    func mapped() throws {
        let claimed = Dictionary(uniqueKeysWithValues: try Self.rows().map { ($0.id, Set($0.files ?? [])) })
        for (file, ids) in try Self.proven() {
            for id in ids { #expect(claimed[id]?.contains(file) == true, "\(id) in \(file)") }
        }
    }

    @Test("a row that is neither tested nor planned states the reason in one sentence")
    func reasons() throws {
        for row in try Self.rows() where row.files == nil {
            #expect(row.state.hasPrefix("planned: ") || row.state.hasSuffix("."), "\(row.id): \(row.state)")
        }
    }
}
