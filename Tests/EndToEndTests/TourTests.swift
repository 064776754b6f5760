import Foundation
import RequestsMock
import RequestsSocket
import RequestsTestServer
import Testing

@Suite("The tour", .timeLimit(.minutes(10)))
struct TourTests {
    /// Returns a process that runs the tour, and that has not been started.
    private static func process(_ arguments: [String]) -> Process {
        let process = Process()
        process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "requests-tour")
        process.arguments = arguments
        return process
    }

    /// Runs the executable of the tour, and returns its status and its combined standard output and standard error.
    static func run(_ arguments: [String] = [], environment: [String: String] = [:]) throws -> (Int32, String) {
        let process = process(arguments)
        let pipe = Pipe()
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// Returns `output` with placeholders for the port and for the times with their padding, which differ in each run.
    static func masked(_ output: String) -> String {
        output.replacing(/127\.0\.0\.1:\d+/, with: "127.0.0.1:PORT")
            .replacing(/\ +\d+\ (?:µs|ms)/, with: " TIME")
    }

    @Test(
        "the output equals the golden file, with either executor over TCP",
        arguments: [[], ["--executor", "urlsession"]])
    func golden(arguments: [String]) throws {
        let (status, output) = try Self.run(arguments)
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "tour.golden.txt")
        var expected = try String(contentsOf: golden, encoding: .utf8)
        if !TestServer.supportsTLS {
            expected =
                "https is left out, because libssl is not installed\n"
                + expected
                .replacing(" · https\n", with: "\n").replacing("   https TIME\n", with: "\n")
                .replacing("in 4 environments", with: "in 3 environments")
        }
        #expect(Self.masked(output) == expected)
        #expect(status == 0)
    }

    @Test("the output has no color codes without a terminal")
    func noColor() throws {
        #expect(try !Self.run().1.contains("\u{1B}"))
    }

    @Test("the tour sends a GET to a URL with the chosen executor", arguments: ["socket", "urlsession"])
    func fetch(executor: String) async throws {
        try await withTestServer(serving: MockExecutor(.status(404, "nothing here"))) { server in
            let (status, output) = try Self.run(["--executor", executor, server.baseURL.absoluteString])
            #expect(status == 0)
            #expect(output.contains("404 Not Found"))
            #expect(output.contains("nothing here"))
        }
    }

    @Test("the tour serves its API until it is ended")
    func serve() async throws {
        let process = Self.process(["serve", "0"])
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        defer { process.terminate() }
        // It writes one line, and then serves.
        let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        let match = try #require(line.firstMatch(of: /^serving (http:\/\/127\.0\.0\.1:\d+),/))
        let api = AnonymousRequestProvider(baseURL: try #require(URL(string: String(match.1))))
        #expect(try await SocketExecutor().perform(api.get(.text, from: "/motto")) == "Ad astra per aspera")
    }

    @Test("a port that is in use is reported, and the exit status is 1")
    func portInUse() async throws {
        try await withTestServer(serving: MockExecutor(.ok())) { server in
            let port = try #require(server.port)
            let (status, output) = try Self.run(["serve", "\(port)"])
            #expect(status == 1 && output.contains("could not listen at 127.0.0.1:\(port): "))
        }
    }

    @Test("an unsupported URL is reported, and the exit status is 1")
    func unsupported() throws {
        let (status, output) = try Self.run(["ftp://127.0.0.1/"])
        #expect(status == 1)
        #expect(output.contains("unsupported URL scheme"))
    }

    @Test(
        "a server whose certificate the system does not trust is reported, and the exit status is 1",
        .enabled(if: TestServer.supportsTLS, "libssl is not installed"))
    func untrusted() async throws {
        try await withTestServer(serving: MockExecutor(.ok("never seen")), tls: .init()) { server in
            let (status, output) = try Self.run([server.baseURL.absoluteString])
            #expect(status == 1 && output.contains("certificate"))
            #expect(!output.contains("never seen") && server.record.requestCount == 0)
        }
    }

    @Test(
        "help and invalid arguments print the usage, and the exit status is 2",
        arguments: [["--help"], ["--executor", "pigeon", "http://x"], ["serve", "70000"]])
    func usage(arguments: [String]) throws {
        let (status, output) = try Self.run(arguments)
        #expect(status == 2)
        #expect(output.contains("usage:"))
    }
}
