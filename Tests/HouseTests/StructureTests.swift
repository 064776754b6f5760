import Foundation
import Testing

@Suite("Package structure")
struct StructureTests {
    /// The modules that each target may import.
    static let allowed: [String: Set<String>] = [
        "Requests": ["CRequestsClock", "FoundationEssentials", "Foundation", "Dispatch", "Synchronization"],
        "RequestsFoundation": ["Dispatch", "Requests", "Foundation", "FoundationNetworking", "Synchronization"],
        "RequestsMiddleware": ["Requests", "RequestsPOSIX", "Synchronization"],
        "RequestsXML": ["Requests", "Foundation", "FoundationXML"],
        "RequestsURLSession": ["Dispatch", "Requests", "RequestsFoundation", "RequestsPOSIX", "Security"],
        "RequestsMock": ["Requests", "RequestsPOSIX", "Synchronization"],
        "RequestsHTTP1": ["Requests"],
        "RequestsHTTP2": ["Requests"],
        "RequestsPOSIX": ["CRequestsPOSIX", "CryptoKit", "Requests", "Synchronization"],
        "RequestsSocket": [
            "Requests", "RequestsHTTP1", "RequestsHTTP2", "RequestsPOSIX", "RequestsTLS", "Synchronization",
        ],
        "RequestsTLS": ["CRequestsPOSIX", "Requests", "RequestsPOSIX"],
        "RequestsTestServer": [
            "CRequestsTest", "Dispatch", "Requests", "RequestsHTTP1", "RequestsHTTP2", "RequestsPOSIX", "RequestsTLS",
            "Synchronization",
        ],
        "RequestsConformance": [
            "Dispatch", "Requests", "RequestsMock", "RequestsPOSIX", "RequestsTestServer", "Synchronization",
        ],
        "requests-tour": [
            "Dispatch", "Requests", "RequestsMiddleware", "RequestsMock", "RequestsPOSIX", "RequestsSocket",
            "RequestsTestServer", "RequestsURLSession",
        ],
        "RequestsBench": ["Requests", "RequestsPOSIX", "RequestsSocket", "Synchronization"],
        "requests-bench-client": ["RequestsBench", "RequestsPOSIX"],
        "requests-bench": [
            "Dispatch", "Requests", "RequestsBench", "RequestsFoundation", "RequestsHTTP1", "RequestsMiddleware",
            "RequestsMock", "RequestsPOSIX", "RequestsSocket", "RequestsTestServer", "RequestsURLSession",
            "Synchronization",
        ],
    ]

    /// The files that may use `canImport`, each with its reason.
    static let conditionalFiles: Set<String> = [
        "Sources/Requests/Exports.swift",  // FoundationEssentials or Foundation
        "Sources/RequestsFoundation/Exports.swift",  // FoundationNetworking
        "Sources/RequestsXML/Exports.swift",  // FoundationXML
        "Sources/RequestsURLSession/Platform+Darwin.swift",  // Apple's URLSession
        "Sources/RequestsURLSession/Platform+DarwinTrust.swift",  // Security.framework
        "Sources/RequestsURLSession/Platform+Linux.swift",  // Foundation's URLSession over libcurl
        "Sources/RequestsMiddleware/Credentials/Digest/NormalizedText.swift",  // Foundation or the standard library
        "Sources/RequestsPOSIX/Hashes/SystemHashes.swift",  // CryptoKit or libcrypto
        "Sources/RequestsPOSIX/ReadinessQueue+Epoll.swift",  // epoll
        "Sources/RequestsPOSIX/ReadinessQueue+Kqueue.swift",  // kqueue
    ]

    @Test("every target imports only its allowed modules")
    func imports() throws {
        for file in try Repository.here.swiftFiles(in: "Sources") {
            let allowed = try #require(Self.allowed[file.target], "\(file.path) is in a target that is not listed")
            #expect(file.imports.subtracting(allowed).isEmpty, "\(file.path)")
        }
    }

    /// The folders of Requests; each uses only the folders before it.
    static let layers = ["Vocabulary", "Exchange", "Description", "Execution"]

    /// The uses of a later folder, each with its reason.
    static let upwardUses: Set<String> = [
        "RequestError.InvalidRequest",  // what is wrong with text is nested in the error that users catch (0027)
        "BodyProvider.BodyError",  // likewise what is wrong with a body
        "AppliedDefaults?",  // a prepared request carries the defaults it was prepared with as one reference (0015)
    ]

    @Test("a folder of Requests uses only the types of the folders before it")
    func layering() throws {
        let declaration =
            /^(?:@\w+(?:\([^)]*\))? )*(?:public |package )?(?:final |indirect )*(?:struct|enum|class|protocol|actor|typealias) (\w+)/
        let files = try Self.layers.map { try Repository.here.swiftFiles(in: "Sources/Requests/\($0)") }
        let types = files.map { files in
            Set(files.flatMap { $0.lines.compactMap { $0.firstMatch(of: declaration).map { String($0.1) } } })
        }
        for (layer, files) in files.enumerated() {
            #expect(!files.isEmpty)
            let later = types[(layer + 1)...].reduce(into: Set()) { $0.formUnion($1) }
            for file in files {
                let lines = SourceText(file).lines.map { $0.replacing(/"(?:[^"\\]|\\.)*"/, with: "") }
                var code = lines.joined(separator: "\n")
                for use in Self.upwardUses { code = code.replacing(use, with: "") }
                let names = Set(code.matches(of: /\b[A-Z]\w+/).map { String($0.output) })
                #expect(names.isDisjoint(with: later), "\(file.path): \(names.intersection(later).sorted())")
            }
        }
    }

    @Test("no files of RequestsSocket refer to each other in a cycle")
    func cycles() throws {
        let declaration =
            /^(?:@\w+(?:\([^)]*\))? )*(?:public |package )?(?:final |indirect )*(?:struct|enum|class|protocol|typealias) (\w+)(<[^>]+>)?/
        let files = try Repository.here.swiftFiles(in: "Sources/RequestsSocket")
        // The executor's nested types are in files of their own: `SocketExecutor.Proxy` is not a use of the executor.
        let namespace = "SocketExecutor"
        var types: [String: String] = [:]
        var texts: [String: String] = [:]
        for file in files {
            var code = SourceText(file).lines.map { $0.replacing(/"(?:[^"\\]|\\.)*"/, with: "") }.joined(
                separator: "\n")
            code = code.replacing("extension \(namespace)", with: "extension")
            for line in file.lines {
                guard let match = line.firstMatch(of: declaration) else { continue }
                types[String(match.1)] = file.path
                // The parameters of a generic type do not count as uses of types with the same names.
                let parameters = (match.2 ?? "").matches(of: /(\w+)(?::|,|>)/).map { String($0.1) }
                for name in parameters { code = code.replacing(try Regex("\\b\(name)\\b"), with: "") }
            }
            texts[file.path] = code
        }
        for file in files where file.path.contains("\(namespace)+") {
            let name = try #require(file.path.firstMatch(of: /\+(\w+)\.swift/)).1
            types["\(namespace).\(name)"] = file.path
        }
        var uses = texts.mapValues { code -> Set<String> in
            let names = code.matches(of: /\b[A-Z]\w+(?:\.[A-Z]\w+)?/).flatMap { match -> [String] in
                let name = String(match.output)
                return types[name] == nil ? name.split(separator: ".").prefix(1).map(String.init) : [name]
            }
            return Set(names.compactMap { types[$0] })
        }
        // Files that use no other remaining file are removed until none is left, or only cycles.
        while let last = uses.first(where: { path, used in used.subtracting([path]).isDisjoint(with: uses.keys) }) {
            uses[last.key] = nil
        }
        #expect(uses.isEmpty, "\(uses.mapValues { $0.intersection(uses.keys).sorted() })")
    }

    @Test("only the listed files use canImport, and every listed file exists")
    func conditions() throws {
        let paths = Set(try Repository.here.swiftFiles(in: "Sources").map(\.path))
        #expect(Self.conditionalFiles.subtracting(paths).isEmpty)
        for file in try Repository.here.swiftFiles(in: "Sources") where !Self.conditionalFiles.contains(file.path) {
            #expect(!file.text.contains("canImport("), "\(file.path)")
        }
    }

    @Test("no file is longer than 400 lines", arguments: ["Sources", "Tests"])
    func lengths(folder: String) throws {
        for file in try Repository.here.swiftFiles(in: folder) {
            #expect(file.lines.count <= 401, "\(file.path)")
        }
    }

    @Test("no source file contains a to-do marker or uses @testable")
    func smells() throws {
        for file in try Repository.here.swiftFiles(in: "Sources") {
            for word in ["TODO", "FIXME", "XXX", "HACK", "@testable"] {
                #expect(!file.text.contains(word), "\(word) in \(file.path)")
            }
        }
    }

    @Test("every unsafe construct has its reason on the same line or the line before")
    func promises() throws {
        let marks = ["@unchecked Sendable", "nonisolated(unsafe)", "unsafeBitCast", "try!", "as!", "fatalError("]
        for file in try Repository.here.swiftFiles(in: "Sources") {
            for (index, line) in file.lines.enumerated() where marks.contains(where: line.contains) {
                let before = index > 0 ? file.lines[index - 1] : ""
                #expect(line.contains("//") || before.contains("//"), "\(file.path):\(index + 1)")
            }
        }
    }

    @Test("every guarantee that the compiler does not check is listed in Docs/Security.md with its tests")
    func listedGuarantees() throws {
        let attributes = ["@unchecked Sendable", "@exclusivity(unchecked)"]
        let unchecked = try Repository.here.swiftFiles(in: "Sources").filter { file in
            attributes.contains { file.text.contains($0) }
        }.map { String($0.path.dropFirst("Sources/".count).dropLast(".swift".count)) }
        let table = try Repository.here.text(of: "Docs/Security.md").split(separator: "\n").map {
            $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }.filter { $0.count == 4 && $0[0].hasPrefix("`Requests") }
        #expect(Set(table.map(\.[0])) == Set(unchecked.map { "`\($0)`" }))
        let files = Set(
            try Repository.here.swiftFiles(in: "Tests").map {
                URL(filePath: $0.path).deletingPathExtension().lastPathComponent
            })
        for row in table {
            let tests = row[3].matches(of: /`(\w+)`/).map { String($0.1) }
            #expect(!tests.isEmpty && files.isSuperset(of: tests), "\(row[0])")
        }
    }

    @Test("public top-level names do not collide with common names in apps")
    func names() throws {
        let taken: Set = ["Path", "Query", "Body", "Task", "Response", "State", "Image", "Text", "View", "Environment"]
        let declaration =
            /^(?:@\w+(?:\([^)]*\))? )*public (?:final )?(?:struct|enum|class|protocol|typealias|actor) (\w+)/
        for file in try Repository.here.swiftFiles(in: "Sources") {
            for line in file.lines {
                guard let match = line.firstMatch(of: declaration) else { continue }
                #expect(!taken.contains(String(match.1)), "\(match.1) in \(file.path)")
            }
        }
    }
}
