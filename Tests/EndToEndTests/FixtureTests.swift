import Foundation
import RequestsMock
import RequestsTestServer
import TestSupport
import Testing

@Suite("Programs that use the library", .timeLimit(.minutes(10)))
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

    @Test("a command-line tool performs a blocking call on its main thread", .rows("HT-2", "C29"))
    func blockingOnly() async throws {
        try await withTestServer(serving: MockExecutor(.ok("hello"))) { server in
            let (status, output) = try run("requests-blocking-only", server.baseURL.absoluteString)
            #expect(status == 0)
            #expect(output == "hello\n")
        }
    }

    @Test("the tasks of a first day have the results that the articles describe")
    func firstDay() throws {
        let (status, output) = try run("requests-first-day")
        #expect(status == 0, "\(output)")
        let expected = [
            "1 decode with the coders of the API: ada 1795172400.0",
            "2 encode with the coders of the API: bo true",
            "3 escape a value in a path: a%2Fb",
            "4 search with an array, a date and nil: q=swift&q=http&since=2026-11-20T11%3A00%3A00Z",
            "5 header fields, credentials, a cookie: "
                + "GET flag|Authorization: Bearer t|Cookie: theme=dark|X-Client: first-day|",
            "6 send a form: POST -|Content-Type: application/x-www-form-urlencoded|grant_type=password",
            "7 a multipart form as curl: true",
            "8 send another media type: PUT -|Content-Type: text/csv|a,b",
            "9 text in another charset: é",
            "10 items of all pages: [1, 2, 3]",
            #"11 server-sent events: ["one", "two"]"#,
            "12 JSON lines: [1, 2]",
            "13 download to a file: 20",
            "14 send a file: 20",
            "15 many requests, a few at a time: user1 to user20",
            "16 the error of the server: 404 no such user",
            "17 a time limit: waiting for the response (Timeouts.firstByte)",
            "18 a size limit: limit of 4 exceeded",
            "19 middleware: GET -|X-Client: middleware|",
            "20 an executor chosen at run time: mock",
            "21 a blocking call: ada",
            "22 a typed stub: 503, then true, 2 calls",
            "23 a request without a stub: true true",
            "24 a snapshot of a request: true",
            "25 a progress bar: ####################.................... 50 %, 10 bytes",
        ]
        #expect(output == expected.joined(separator: "\n") + "\n")
    }

    @Test("the clients of a second day have the results that their services send")
    func secondDay() throws {
        let (status, output) = try run("requests-second-day")
        #expect(status == 0, "\(output)")
        let expected = [
            "container registry: 1 layer; manifest unknown",
            "language model: Hi, there",
            #"calendar: ["Home", "Work"]"#,
            "object store: 403 AccessDenied",
            "metrics: query=up%7Bjob%3D%22a%22%7D&start=1970-01-01T00%3A00%3A00Z",
            "database: 7 by DynamoDB_20120810.GetItem",
            "notebook: new.ipynb",
            "token: Bearer t1",
            "busy service: 2 attempts, the retry policy permits no more retries",
        ]
        #expect(output == expected.joined(separator: "\n") + "\n")
    }

    @Test("an app on the main actor encodes and decodes off it, awaited or with a completion handler", .rows("PM-15"))
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
