import Foundation
import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

@Suite("A download that Ctrl-C ends", .timeLimit(.minutes(10)))
struct InterruptedDownloadTests {
    private let content = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })

    /// Serves `content`, or the part of it that a Range requests.
    private var server: MockExecutor {
        MockExecutor { [content] request in
            let start = request.header[.range].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            var response = MockResponse.data(content[start...], status: start > 0 ? 206 : 200)
            response.header["ETag"] = "\"v1\""
            if start > 0 { response.header["Content-Range"] = "bytes \(start)-999999/1000000" }
            return response
        }
    }

    /// Starts the program of a first day, which downloads `url` to `path`, with its output in `pipe`, and ends it after
    /// two minutes.
    private func start(downloading url: URL, to path: String, output pipe: Pipe) throws -> Process {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "requests-first-day")
        process.arguments = ["download", url.absoluteString, path]
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // A hang becomes a failure: the reads of its output end with the program.
        DispatchQueue.global().asyncAfter(deadline: .now() + 120) {
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        }
        return process
    }

    @Test("the next run of the program sends a Range, and the file is whole", .rows("HT-6"))
    func resumes() async throws {
        let folder = TemporaryDirectory()
        // The first connection stops in the middle of the body and stays open, so that only the signal ends the run.
        let behavior = { @Sendable (connection: Int, _: Int) -> TestServer.Behavior in
            .failing(connection == 0 ? .stallBody(atByte: 500_000) : nil)
        }
        try await withTestServer(serving: server, behaving: behavior) { server in
            let path = folder.path(of: "file")
            let pipe = Pipe()
            let first = try start(downloading: server.baseURL, to: path, output: pipe)
            let output = pipe.fileHandleForReading
            var text = ""
            while !text.contains(" %") {
                let data = output.availableData
                try #require(!data.isEmpty, "the program ended: \(text)")
                text += String(decoding: data, as: UTF8.self)
            }
            // Again and again, because the program ignores the signal until its source is registered.
            var readable = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
            repeat {
                first.interrupt()
                if poll(&readable, 1, 100) > 0 { text += String(decoding: output.availableData, as: UTF8.self) }
            } while first.isRunning
            text += String(decoding: try output.readToEnd() ?? Data(), as: UTF8.self)
            first.waitUntilExit()
            #expect(first.terminationStatus == 130 && first.terminationReason == .exit, "\(text)")
            #expect(text.contains("####.") && text.contains("not downloaded") && !text.contains("51 %"), "\(text)")
            #expect(text.contains("own handler restored: true"), "\(text)")
            #expect(folder.names == ["file.partial", "file.partial.json"])

            let secondPipe = Pipe()
            let second = try start(downloading: server.baseURL, to: path, output: secondPipe)
            text = String(decoding: try secondPipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            second.waitUntilExit()
            #expect(second.terminationStatus == 0 && text.contains("100 %"), "\(text)")
            #expect(folder.read("file") == content && folder.names == ["file"])
            let ranges = server.exchanges.map { $0.header[.range] }
            let kept = try #require(ranges.last ?? nil).dropFirst(6).dropLast()
            #expect(ranges.count == 2 && ranges.first == .some(nil))
            #expect((1...500_000).contains(Int(kept) ?? 0), "\(ranges)")
        }
    }
}
