import RequestsConformance
import RequestsURLSession
import Testing

/// What ends the process of whoever asks through Foundation's URLSession on Linux, and cannot be kept from doing so.
///
/// Each test fails once Foundation is repaired: then its deviation goes.
@Suite("URLSession: what ends the process", .timeLimit(.minutes(5)), .enabled(if: Support.isOnLinux))
struct URLSessionFatalTests {
    @Test("a chunked response with trailers does (L18)")
    func trailers() async {
        await #expect(processExitsWith: .failure) {
            try await ask(answeredBy: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 3\r\n\r\n")
        }
    }

    @Test("a head that is cut short does (T-87)")
    func head() async {
        await #expect(processExitsWith: .failure) {
            try await ask(answeredBy: "Content-Le")
        }
    }

    @Test("a length of more than 9,223,372,036,854,775,295 bytes does (T-87, D-22)")
    func longest() async {
        await #expect(processExitsWith: .failure) {
            try await ask(answeredBy: "Content-Length: 9223372036854775296\r\n\r\nabc")
        }
        await #expect(processExitsWith: .success) {
            try await ask(answeredBy: "Content-Length: 9223372036854775295\r\n\r\nabc")
        }
    }

    @Test("the same children end well when the answer is whole")
    func control() async {
        await #expect(processExitsWith: .success) {
            try await ask(answeredBy: "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
        }
    }
}

@Suite("URLSession: what no longer ends the process", .timeLimit(.minutes(5)))
struct URLSessionSurvivalTests {
    @Test("a redirect whose task is cancelled meanwhile does not (L3, R-67, D-22)")
    func cancelledRedirects() async {
        await #expect(processExitsWith: .success) {
            try await withTestServer(serving: MockExecutor(.redirect(to: "/next"))) { server in
                let executor = URLSessionExecutor()
                let request = try server.request()
                for round in 0..<1_500 {
                    let count = server.record.exchanges.count
                    let task = Task { _ = await executor.failure(of: request) }
                    while server.record.exchanges.count == count { await Task.yield() }
                    for _ in 0..<round % 500 { await Task.yield() }
                    task.cancel()
                    _ = await task.value
                }
            }
        }
    }

    @Test("a peer that leaves during the upload of a long file does not (T-87, D-22)")
    func abandonedUploads() async {
        await #expect(processExitsWith: .success) {
            try await withFolder { folder in
                let path = folder + "/body"
                try Data(count: 4 << 20).write(to: URL(filePath: path))
                for round in 0..<50 {
                    let peer = try AbruptPeer(ending: AbruptPeer.End.allCases[round % 3]) { _ in 0 }
                    let target = try TargetURI("http://127.0.0.1:\(peer.port)/")
                    for method in [HTTPMethod.put, .post] {
                        let request = PreparedRequest(method: method, target: target, body: .file(path: path))
                        let error = await URLSessionExecutor().failure(of: request)
                        guard error?.reason == .connectionLost else { throw error ?? RequestError(.other) }
                    }
                }
            }
        }
    }
}

/// Performs a request that is answered with a status line and `rest`; in vain, or not, but to its end.
@Sendable
private func ask(answeredBy rest: String) async throws {
    let bytes = Array("HTTP/1.1 200 OK\r\n\(rest)".utf8)
    try await withTestServer(serving: MockExecutor(.ok()), fault: .raw(bytes)) { server in
        _ = try? await URLSessionExecutor().execute(PreparedRequest(url: server.baseURL))
    }
}
