import Foundation

/// The checkout these tests were compiled from, read as text.
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

        /// The target the file belongs to: the folder below Sources or Tests.
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

    /// The Swift files below `folder`, sorted by path.
    func swiftFiles(in folder: String) throws -> [SourceFile] {
        let base = root.appending(path: folder)
        let paths = FileManager.default.enumerator(atPath: base.path)?.compactMap { $0 as? String } ?? []
        return try paths.filter { $0.hasSuffix(".swift") }.sorted().map { path in
            SourceFile(path: "\(folder)/\(path)", text: try text(of: "\(folder)/\(path)"))
        }
    }

    func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Where the executables built with these tests are.
    static var products: URL {
        URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
    }
}

/// What a program printed and how it ended.
struct Outcome {
    let output: String
    let status: Int32

    /// Runs `program` to its end; standard output and standard error come as one text.
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
