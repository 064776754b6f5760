// Performs requests with HTTP/2 at the server of the first argument, and prints for each step its name and the result.
// The second argument is a folder with the files `small`, `big`, `upload` and, for https, `ca.pem`; `small` and `big`
// are also resources of the server. Other arguments are the steps that the server supports beyond GET and HEAD.

import Foundation
import RequestsSocket

struct Difference: Error, CustomStringConvertible {
    var description: String
}

struct Pieces: RequestBody.Source {
    var rest: Data

    mutating func next() async throws -> Data? {
        try await Task.sleep(for: .milliseconds(1))
        defer { rest = Data(rest.dropFirst(30_000)) }
        return rest.isEmpty ? nil : Data(rest.prefix(30_000))
    }
}

let base = URL(string: CommandLine.arguments[1]) ?? URL(filePath: "/")
let folder = CommandLine.arguments[2]
let steps = Set(CommandLine.arguments[3...])
let small = try Data(contentsOf: URL(filePath: folder + "/small"))
let big = try Data(contentsOf: URL(filePath: folder + "/big"))
let upload = try Data(contentsOf: URL(filePath: folder + "/upload"))

var configuration = SocketExecutor.Configuration()
configuration.httpVersion = .http2PriorKnowledge
if base.scheme == "https" {
    configuration.tls = TLSConfiguration(trust: .certificates(atPath: folder + "/ca.pem"))
}
let executor = SocketExecutor(configuration: configuration)
let client = Client(AnonymousRequestProvider(baseURL: base), executor: executor)

func send(_ path: String, _ change: @Sendable (inout PreparedRequest) -> Void = { _ in }) async throws -> RawResponse {
    var request = try PreparedRequest(url: base.appending(path: path))
    request.delivery = .collected(limit: 30_000_000)
    request.timeouts.firstByte = .seconds(20)
    request.timeouts.betweenBytes = .seconds(20)
    change(&request)
    return try await executor.execute(request)
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
    guard received == body else { throw Difference(description: "\(received.count) of \(body.count) bytes") }
}

/// Performs a step, prints its result, and then checks that the next request succeeds.
func step(_ name: String, _ work: () async throws -> String?) async {
    var result: String
    do { result = try await work() ?? "ok" } catch { result = "\(error)" }
    do { try await check(send("/small"), 200, small) } catch { result += "; the next request: \(error)" }
    print(name, result.replacing("\n", with: " "), separator: "\t")
}

if steps.contains("grpc") {
    func call(_ path: String) async throws -> RawResponse {
        try await send(path) {
            $0.method = .post
            $0.header = ["Content-Type": "application/grpc", "TE": "trailers"]
            $0.body = .bytes(Data([0, 0, 0, 0, 5]) + Data("hello".utf8))
        }
    }
    for (path, code) in [("/test.Test/Echo", "0"), ("/test.Test/Fail", "5")] {
        for number in 1...2 {
            do {
                let response = try await call(path)
                try await check(response, 200, code == "0" ? Data([0, 0, 0, 0, 5]) + Data("hello".utf8) : Data())
                let status = response.trailers["grpc-status"] ?? response.header["grpc-status"]
                let place = response.trailers.isEmpty ? "header" : "trailers"
                let isRight = status == code && (number == 1 || response.metrics.isReusedConnection)
                print("\(path) \(number)", isRight ? "ok" : "\(status ?? "none") in \(place)", separator: "\t")
            } catch {
                print("\(path) \(number)", error, separator: "\t")
            }
        }
    }
    exit(0)
}

await step("GET twice") {
    try await check(send("/small"), 200, small)
    let second = try await send("/small")
    try await check(second, 200, small)
    return second.metrics.isReusedConnection ? nil : "two connections"
}
await step("20 MB collected") {
    try await check(send("/big"), 200, big); return nil
}
await step("20 MB streamed") {
    try await check(send("/big") { $0.delivery = .streamed }, 200, big); return nil
}
await step("20 MB to a file") {
    let path = folder + "/received"
    try await check(send("/big") { $0.delivery = .file(path: path) })
    guard try Data(contentsOf: URL(filePath: path)) == big else { throw Difference(description: "another file") }
    return nil
}
await step("HEAD") {
    let response = try await send("/big") { $0.method = .head }
    try await check(response, 200, Data())
    return response.header["Content-Length"].map { $0 == "\(big.count)" ? "ok" : "length \($0)" } ?? "no length"
}
await step("404") {
    try await check(send("/missing"), 404); return nil
}
await step("cancelled download") {
    for _ in 0..<3 {
        let task = Task {
            guard case .stream(let stream) = try await send("/big", { $0.delivery = .streamed }).body else { return }
            _ = try await stream.next()
            withUnsafeCurrentTask { $0?.cancel() }
            while try await stream.next() != nil {}
            throw Difference(description: "not cancelled")
        }
        if case .failure(let error as Difference) = await task.result { throw error }
    }
    return nil
}
await step("30 in sequence") {
    for _ in 0..<30 { try await check(send("/small"), 200, small) }
    return nil
}
await step("30 at once") {
    try await withThrowingTaskGroup { group in
        for _ in 0..<30 { group.addTask { try await check(send("/small"), 200, small) } }
        try await group.waitForAll()
    }
    return nil
}
if steps.contains("echo") {
    let hundred = Data(upload.prefix(100_000))
    await step("POST 100 KB") {
        for _ in 0..<3 {
            try await check(
                send("/echo") {
                    $0.method = .post; $0.body = .bytes(hundred)
                }, 200, hundred)
        }
        return nil
    }
    await step("POST produced") {
        let body = Data(upload.prefix(1_000_000))
        let response = try await send("/echo") {
            $0.method = .post
            $0.body = .stream(length: nil, isReplayable: false) { Pieces(rest: body) }
        }
        try await check(response, 200, body)
        return nil
    }
    await step("PUT 5 MB file") {
        let response = try await send("/echo") {
            $0.method = .put
            $0.body = .file(path: folder + "/upload", range: nil)
        }
        try await check(response, 200, upload)
        return nil
    }
    await step("100-continue") {
        let response = try await send("/echo") {
            $0.method = .post
            $0.body = .bytes(hundred)
            $0.attributes.continueTimeout = .milliseconds(300)
        }
        try await check(response, 200, hundred)
        return nil
    }
}
if steps.contains("limited") {
    await step("413") {
        for _ in 0..<3 {
            let response = try await send("/limited") {
                $0.method = .put
                $0.body = .file(path: folder + "/big", range: nil)
            }
            try await check(response, 413)
        }
        return nil
    }
}
if steps.contains("once") {
    let count = 2_500
    await step("2,500 POSTs once") {
        _ = try await send("/once") { $0.method = .delete }
        var repeated = 0
        var failures: [Int] = []
        var failure = ""
        for number in 0..<count {
            do {
                let response = try await send("/once") {
                    $0.method = .post
                    $0.header = ["X-Number": "\(number)"]
                    $0.body = .bytes(small)
                }
                try await check(response)
                if response.metrics.transmissions > 1 { repeated += 1 }
            } catch {
                failures.append(number + 1)
                failure = "\(error)"
            }
        }
        let counts = try await send("/once")
        guard case .bytes(let text) = counts.body else { return "no counts" }
        guard failures.isEmpty, text == Data("\(count) of \(count)".utf8) else {
            let executed = String(decoding: text, as: UTF8.self)
            return "\(failures) failed, at last with “\(failure)”; the server has executed \(executed)"
        }
        return repeated == 0 ? nil : "ok, \(repeated) sent again"
    }
}
if steps.contains("cancels") {
    await step("1,200 cancels") {
        for _ in 0..<1_200 {
            guard case .stream = try await send("/big", { $0.delivery = .streamed }).body else { return "no stream" }
        }
        return nil
    }
}

func block(_ name: String, _ work: () throws -> Bool) {
    do { print(name, try work() ? "ok" : "another response", separator: "\t") } catch {
        print(name, "\(error)".replacing("\n", with: " "), separator: "\t")
    }
}
func performBlockingCalls() {
    let whole = ResponseDecoder(limit: 30_000_000) { _, data in data }
    block("blocking GET") {
        try (0..<3).allSatisfy { _ in try client.responseAndWait { $0.get(.data, from: "/small") }.value == small }
    }
    block("blocking 20 MB") {
        try client.responseAndWait { $0.get(whole, from: "/big") }.value == big
    }
    if steps.contains("echo") {
        block("blocking POST") {
            try client.responseAndWait {
                $0.post(.raw(data: upload), to: "/echo", receiving: whole)
            }.value == upload
        }
    }
}
await withCheckedContinuation { continuation in
    Thread.detachNewThread {
        performBlockingCalls()
        continuation.resume()
    }
}
