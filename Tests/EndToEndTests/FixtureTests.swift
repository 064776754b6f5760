import Foundation
import RequestsMock
import RequestsTestServer
import Testing

@Suite("Programs that use the library", .timeLimit(.minutes(5)))
struct FixtureTests {
    /// Runs a program that is built with these tests, and returns its exit status and output.
    private func run(_ program: String, _ arguments: String...) throws -> (status: Int32, output: String) {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: program)
        process.arguments = arguments
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    @Test("a command-line tool performs a blocking call on its main thread (HT-2, C29)")
    func blockingOnly() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hello"))) { server in
            let (status, output) = try run("requests-blocking-only", server.baseURL.absoluteString)
            #expect(status == 0)
            #expect(output == "hello\n")
        }
    }

    @Test("an app on the main actor encodes and decodes off it, awaited or with a completion handler (PM-15)")
    func mainActorApp() async throws {
        let echo = MockExecutor { request in
            guard case .bytes(let body) = request.body else { return .status(400) }
            return .data(body, contentType: .json)
        }
        try await withTestServer(serving: echo) { server in
            let (status, output) = try run("requests-main-actor-app", server.baseURL.absoluteString)
            #expect(status == 0, "\(output)")
            #expect(output == "async, callback\n")
        }
    }
}
