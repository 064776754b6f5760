import Foundation
import TestCorpora
import TestSupport
import Testing

/// The Python that runs the script: REQUESTS_PYTHON, or the first one in PATH.
private let python: String? = {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["REQUESTS_PYTHON"] { return path }
    let folders = (environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/python3" }.first(where: FileManager.default.isExecutableFile)
}()

@Suite("HPACK interoperation", .enabled(if: python != nil, "python3 is not installed"))
struct HPACKInteropTests {
    /// The blocks of one connection, in the form that the script reads.
    private struct Connection: Encodable {
        var lists: [[[String]]]
        var blocks: [String]
        var size: Int

        init(_ lists: [[FieldBytes]], _ blocks: [[UInt8]], size: Int) {
            self.lists = lists.map { $0.map { [Self.hexadecimal($0.name), Self.hexadecimal($0.value)] } }
            self.size = size
            self.blocks = blocks.map(Self.hexadecimal)
        }

        private static func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
        }
    }

    @Test("libnghttp2 and the package hpack of Python decode every list, if they are installed", .rows("H-5"))
    func otherDecoders() throws {
        var random = SplitMix64(state: Mutator.seed)
        var connections: [Connection] = []
        func add(_ lists: [[FieldBytes]], size: Int = 4096) {
            connections.append(Connection(lists, encode(lists, size: size), size: size))
        }
        for size in [4096, 1000, 100, 0] { add((0..<200).map { _ in RandomFields.list(&random) }, size: size) }
        for story in Corpora.hpackStories.values { add(story.lists.map { $0.map { FieldBytes($0) } }) }
        let lines = try connections.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n" }
        let (output, status) = try run("Tests/Fixtures/Interop/hpack", input: lines.joined())
        let count = connections.reduce(0) { $0 + $1.lists.count }
        print(output, terminator: "")
        #expect(status == 0, "seed \(Mutator.seed)")
        for name in ["libnghttp2", "hpack"] {
            let results = ["\(name): \(count) lists", "\(name): skipped, because it is not installed"]
            #expect(results.contains { output.contains($0) }, "\(output)")
        }
    }

    /// Runs a script of this repository, and returns its output and its status.
    private func run(_ script: String, input: String) throws -> (output: String, status: Int32) {
        let folder = TemporaryDirectory()
        try folder.write(Data(input.utf8), to: "input")
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: try #require(python))
        process.arguments = ["/\(root)/\(script)"]
        process.standardInput = try FileHandle(forReadingFrom: URL(filePath: folder.path(of: "input")))
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (String(decoding: output, as: UTF8.self), process.terminationStatus)
    }
}
