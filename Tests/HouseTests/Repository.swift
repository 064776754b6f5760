import Foundation

/// The text of the checkout from which these tests were compiled.
struct Repository {
    let root: URL

    static let here = Repository(
        root: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent())

    struct SourceFile: Sendable {
        /// The path below the root.
        let path: String
        let text: String

        var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

        /// The target of the file, which is the folder below Sources or Tests.
        var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }

        var imports: Set<String> {
            Set(
                lines.compactMap { line in
                    let words = line.split(separator: " ")
                    guard let index = words.firstIndex(of: "import"), words[..<index].allSatisfy(Self.isModifier)
                    else { return nil }
                    return words[words.index(after: index)...].first.map(String.init)
                })
        }

        private static func isModifier(_ word: Substring) -> Bool {
            ["public", "package", "internal", "private", "fileprivate", "@_exported"].contains(word)
        }
    }

    /// Returns the Swift files below `folder`, sorted by path.
    func swiftFiles(in folder: String) throws -> [SourceFile] {
        let base = root.appending(path: folder)
        let paths = FileManager.default.enumerator(atPath: base.path)?.compactMap { $0 as? String } ?? []
        return try paths.filter { $0.hasSuffix(".swift") }.sorted().map { path in
            SourceFile(path: "\(folder)/\(path)", text: try text(of: "\(folder)/\(path)"))
        }
    }

    /// Returns the C headers of the package.
    func headers() throws -> [SourceFile] {
        let paths =
            FileManager.default.enumerator(atPath: root.appending(path: "Sources").path)?
            .compactMap { $0 as? String } ?? []
        return try paths.filter { $0.hasSuffix(".h") }.sorted().map { path in
            SourceFile(path: "Sources/\(path)", text: try text(of: "Sources/\(path)"))
        }
    }

    /// Returns the paths of the README, the articles and the documents for maintainers, sorted.
    func documents() -> [String] {
        let folders = [
            "Docs", "Sources/Requests/Requests.docc", "Sources/RequestsMiddleware/RequestsMiddleware.docc",
        ]
        let paths = folders.flatMap { folder in
            let names = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
            return (names?.compactMap { $0 as? String } ?? []).map { "\(folder)/\($0)" }
        }
        return (paths.filter { $0.hasSuffix(".md") } + ["README.md"]).sorted()
    }

    func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The folder of the executables that are built with these tests.
    static var products: URL {
        URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    }
}

/// The output and the exit status of a program.
struct Outcome {
    let output: String
    let status: Int32

    /// Runs `program` to its end.
    ///
    /// The output combines standard output and standard error.
    static func running(_ program: String, _ arguments: [String]) throws -> Outcome {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Outcome(output: String(decoding: data, as: UTF8.self), status: process.terminationStatus)
    }
}
