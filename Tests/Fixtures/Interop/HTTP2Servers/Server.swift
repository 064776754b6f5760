import Foundation
import RequestsSocket

/// A step whose result is not the expected one.
struct Difference: Error, CustomStringConvertible {
    var description: String
}

/// A server of HTTP/2, the files that are its resources, and an executor.
struct Server: Sendable {
    let base: URL
    let folder: String
    /// The steps that the server supports beyond GET and HEAD, and `streams=N` and `requests=N`: the maximum number of
    /// streams at once, and the number of requests after which the server ends a connection.
    let options: Set<String>
    let small: Data
    let big: Data
    let upload: Data
    /// The resources `part-0` to `part-63`, all different.
    let parts: [Data]
    var executor: SocketExecutor

    init(_ arguments: [String]) throws {
        base = URL(string: arguments[1]) ?? URL(filePath: "/")
        folder = arguments[2]
        options = Set(arguments[3...])
        small = try Data(contentsOf: URL(filePath: folder + "/small"))
        big = try Data(contentsOf: URL(filePath: folder + "/big"))
        upload = try Data(contentsOf: URL(filePath: folder + "/upload"))
        parts = try (0..<64).map { [folder] in try Data(contentsOf: URL(filePath: "\(folder)/part-\($0)")) }
        executor = SocketExecutor()
        executor = SocketExecutor(configuration: configuration)
    }

    private var configuration: SocketExecutor.Configuration {
        var configuration = SocketExecutor.Configuration()
        configuration.httpVersion = .http2PriorKnowledge
        if base.scheme == "https" {
            configuration.tls = TLSConfiguration(trust: .certificates(atPath: folder + "/ca.pem"))
        }
        return configuration
    }

    /// Returns the server with an executor of its own.
    func withExecutor(_ change: (inout SocketExecutor.Configuration) -> Void = { _ in }) -> Server {
        var configuration = configuration
        change(&configuration)
        var copy = self
        copy.executor = SocketExecutor(configuration: configuration)
        return copy
    }

    var client: Client<AnonymousRequestProvider> {
        Client(AnonymousRequestProvider(baseURL: base), executor: executor)
    }

    func supports(_ step: String) -> Bool { options.contains(step) }

    /// Returns the number of an option such as `streams=100`; nil if it was not given.
    func number(_ name: String) -> Int? {
        options.first { $0.hasPrefix(name + "=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
    }

    func send(
        _ path: String, _ change: @Sendable (inout PreparedRequest) -> Void = { _ in }
    ) async throws -> RawResponse {
        var request = try PreparedRequest(url: base.appending(path: path))
        request.delivery = .collected(limit: 30_000_000)
        request.timeouts.connect = .seconds(60)
        request.timeouts.firstByte = .seconds(60)
        request.timeouts.betweenBytes = .seconds(60)
        change(&request)
        return try await executor.execute(request)
    }

    /// Sends a body that the server returns, and checks the response.
    func echo(_ body: Data) async throws {
        let response = try await send("/echo") {
            $0.method = .post
            $0.body = .bytes(body)
        }
        try await check(response, 200, body)
    }

    /// Sends a POST that the server counts.
    func post(number: Int) async throws -> RawResponse {
        let response = try await send("/once") {
            $0.method = .post
            $0.header = ["X-Number": "\(number)"]
            $0.body = .bytes(small)
        }
        try await check(response)
        return response
    }

    /// Sets the counts of the server to zero.
    func resetCounts() async throws {
        try await check(send("/once") { $0.method = .delete })
    }

    /// Returns how many different POSTs the server has executed, and how many executions there were.
    func counts() async throws -> (numbers: Int, sum: Int) {
        let response = try await send("/once")
        guard case .bytes(let data) = response.body else { throw Difference(description: "no counts") }
        let text = String(decoding: data, as: UTF8.self)
        let numbers = text.split(separator: " ").compactMap { Int($0) }
        guard numbers.count == 2 else { throw Difference(description: "no counts: \(text)") }
        return (numbers[0], numbers[1])
    }
}

func check(_ response: RawResponse, _ status: Int = 200, _ body: Data? = nil) async throws {
    guard response.status.code == status else { throw Difference(description: "status \(response.status)") }
    guard let body else { return }
    var received = Data()
    switch response.body {
    case .bytes(let data): received = data
    case .stream(let stream): while let piece = try await stream.next() { received += piece }
    case .file(let file): received = try Data(contentsOf: URL(filePath: "\(file)"))
    }
    guard received == body else {
        let kind = received.count == body.count ? "other bytes" : "\(received.count) of \(body.count) bytes"
        throw Difference(description: kind)
    }
}

/// Prints a line at once.
func printLine(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line.replacing("\n", with: " ") + "\n").utf8))
}

/// Whether the step is to be performed: the variable STEP in the environment, if it is set, is a part of its name.
func isSelected(_ name: String) -> Bool {
    ProcessInfo.processInfo.environment["STEP"].map { name.contains($0) } ?? true
}

/// Performs a step, and prints its name and its result: nothing, or a remark.
func step(_ name: String, _ work: () async throws -> String?) async {
    guard isSelected(name) else { return }
    do {
        let remark = try await work()
        printLine("\(name)\tok\(remark.map { ", " + $0 } ?? "")")
    } catch {
        printLine("\(name)\t\(error)")
    }
}

/// Lets the script do something with the server, such as `restart`, and waits until it is done.
func command(_ name: String) async {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            printLine("!" + name)
            _ = readLine()
            continuation.resume()
        }
    }
}
