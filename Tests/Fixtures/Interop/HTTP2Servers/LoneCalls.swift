import Foundation
import RequestsSocket

private struct Pieces: RequestBody.Source {
    var rest: Data

    mutating func next() async throws -> Data? {
        try await Task.sleep(for: .milliseconds(1))
        defer { rest = Data(rest.dropFirst(30_000)) }
        return rest.isEmpty ? nil : Data(rest.prefix(30_000))
    }
}

// Calls of every kind, one after the other.
extension Server {
    /// Performs a step, and then checks that the next request succeeds.
    private func loneStep(_ name: String, _ work: () async throws -> String?) async {
        await step(name) {
            let remark = try await work()
            do { try await check(send("/small"), 200, small) } catch {
                throw Difference(description: "the next request: \(error)")
            }
            return remark
        }
    }

    func performLoneCalls() async {
        await performDownloads()
        if supports("echo") { await performUploads() }
        if supports("limited") {
            await loneStep("413") {
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
        if supports("once") {
            await loneStep("2,500 POSTs once") {
                let outcome = try await countPOSTs(2_500, atOnce: 1)
                guard let first = outcome.errors.first else { return outcome.remark }
                let remark = outcome.remark ?? "all were executed once"
                throw Difference(description: "\(outcome.errors.count) failed: \(first); \(remark)")
            }
        }
        await loneStep("1,200 cancels") {
            for _ in 0..<1_200 {
                guard case .stream = try await send("/big", { $0.delivery = .streamed }).body else {
                    throw Difference(description: "no stream")
                }
            }
            return nil
        }
    }

    private func performDownloads() async {
        await loneStep("GET twice") {
            try await check(send("/small"), 200, small)
            let second = try await send("/small")
            try await check(second, 200, small)
            guard second.metrics.isReusedConnection else { throw Difference(description: "two connections") }
            return nil
        }
        await loneStep("20 MB collected") {
            try await check(send("/big"), 200, big)
            return nil
        }
        await loneStep("20 MB streamed") {
            try await check(send("/big") { $0.delivery = .streamed }, 200, big)
            return nil
        }
        await loneStep("20 MB to a file") {
            let path = folder + "/received"
            try await check(send("/big") { $0.delivery = .file(path: path) })
            guard try Data(contentsOf: URL(filePath: path)) == big else {
                throw Difference(description: "another file")
            }
            return nil
        }
        await loneStep("HEAD") {
            let response = try await send("/big") { $0.method = .head }
            try await check(response, 200, Data())
            let length = response.header["Content-Length"]
            return length == "\(big.count)" ? nil : length.map { "length \($0)" } ?? "no length"
        }
        await loneStep("404") {
            try await check(send("/missing"), 404)
            return nil
        }
        await loneStep("cancelled download") {
            for _ in 0..<3 {
                let task = Task {
                    let response = try await send("/big") { $0.delivery = .streamed }
                    guard case .stream(let stream) = response.body else { return }
                    _ = try await stream.next()
                    withUnsafeCurrentTask { $0?.cancel() }
                    while try await stream.next() != nil {}
                    throw Difference(description: "not cancelled")
                }
                if case .failure(let error as Difference) = await task.result { throw error }
            }
            return nil
        }
        await loneStep("30 in sequence") {
            for _ in 0..<30 { try await check(send("/small"), 200, small) }
            return nil
        }
    }

    private func performUploads() async {
        let hundred = Data(upload.prefix(100_000))
        await loneStep("POST 100 KB") {
            for _ in 0..<3 { try await echo(hundred) }
            return nil
        }
        await loneStep("POST produced") {
            let body = Data(upload.prefix(1_000_000))
            let response = try await send("/echo") {
                $0.method = .post
                $0.body = .stream(length: nil, isReplayable: false) { Pieces(rest: body) }
            }
            try await check(response, 200, body)
            return nil
        }
        await loneStep("PUT 5 MB file") {
            let response = try await send("/echo") {
                $0.method = .put
                $0.body = .file(path: folder + "/upload", range: nil)
            }
            try await check(response, 200, upload)
            return nil
        }
        await loneStep("100-continue") {
            let response = try await send("/echo") {
                $0.method = .post
                $0.body = .bytes(hundred)
                $0.attributes.continueTimeout = .milliseconds(300)
            }
            try await check(response, 200, hundred)
            return nil
        }
    }
}
