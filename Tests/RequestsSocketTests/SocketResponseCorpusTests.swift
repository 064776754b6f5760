import Requests
import RequestsPOSIX
import RequestsSocket
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite(
    "Response corpus over sockets", .timeLimit(.minutes(10)),
    .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct SocketResponseCorpusTests {
    /// The maximum number of bytes of a read.
    ///
    /// The executor limits its reads, because TCP coalesces writes.
    static let readCaps = [Int.max, 1, 3]

    @Test(
        "every response is accepted or rejected as the corpus states, and the next is not affected",
        .rows("R-9", "R-20", "R-22"),
        arguments: readCaps)
    func verdicts(cap: Int) async throws {
        let peer = try ScriptedPeer { line, _, _ in Self.serve(line) }
        let executor = SocketExecutor.with {
            $0.faults = TransferFaults(longestRead: cap)
        }
        for (index, test) in Corpora.responses.enumerated() {
            let request = try peer.request(test.method, "/\(index)").with { $0.timeouts.betweenBytes = .seconds(2) }
            let result: Result<RawResponse, RequestError>
            do throws(RequestError) {
                result = .success(try await executor.execute(request))
            } catch {
                result = .failure(error)
            }
            try check(result, of: test)
            // The next request of the executor gets its own response.
            #expect(try await executor.execute(peer.request(.get, "/own")).text == "own", "after \(test.id)")
        }
    }

    private static let accepted = Corpora.responses.filter { $0.expect.verdict == .accept }

    @Test(
        "every response is read the same, wherever a read splits it", .rows("R-20"),
        .notInstrumented("its cases differ only in bytes"), arguments: accepted)
    func splits(test: ResponseCase) async throws {
        let path = Self.freeName()
        let peer = try ScriptedPeer(on: SocketAddress(unixPath: path)) { line, _, _ in
            if line.receiveRequest() != nil { line.send(test.bytes) }
        }
        for offset in 1..<test.bytes.count {
            let executor = SocketExecutor.with(.unix(path: path)) {
                $0.faults = TransferFaults(readBoundary: offset)
            }
            do {
                try expect(try await executor.execute(peer.request(test.method)), of: test)
            } catch {
                Issue.record("split at \(offset): \(error)")
            }
        }
    }

    @Test(
        "a truncated response is an error, unless its body ends when the connection closes", .rows("R-20"),
        .notInstrumented("its cases differ only in bytes"),
        arguments: accepted)
    func cuts(test: ResponseCase) async throws {
        let expected = try #require(test.expect.ifAccepted)
        let message = test.bytes.count - expected.unreadBytesAfterMessage
        let firstOpenCut = expected.framing == "until-close" ? message - expected.bodyB64.count : message
        let path = Self.freeName()
        let peer = try ScriptedPeer(on: SocketAddress(unixPath: path)) { line, number, _ in
            if line.receiveRequest() != nil { line.send(Array(test.bytes[..<number])) }
        }
        for cut in 0..<firstOpenCut {
            let executor = SocketExecutor(.unix(path: path))
            let error = await executor.failure(of: try peer.request(test.method))
            #expect(error?.reason == .connectionLost, "cut at \(cut)")
            #expect(executor.connections == (0, 0))
        }
    }

    /// Returns an abstract name, because thousands of TCP connections would remain in TIME_WAIT.
    private static func freeName() -> String { "@\(uniqueName())" }

    /// Responds to `/N` with the bytes of case N and closes if the case says so, and to other paths with `own`.
    private static func serve(_ line: borrowing ScriptedPeer.Line) {
        while let request = line.receiveRequest() {
            let target = request.split(separator: " ").dropFirst().first.flatMap { Int($0.dropFirst()) }
            guard let index = target else {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown")
                continue
            }
            line.send(Corpora.responses[index].bytes)
            if Corpora.responses[index].serverThen == "close" { return }
        }
    }

    private func check(_ result: Result<RawResponse, RequestError>, of test: ResponseCase) throws {
        switch (test.expect.verdict, result) {
        case (.accept, .failure(let error)): Issue.record("\(test.description) rejected: \(error)")
        case (.reject, .success(let response)): Issue.record("\(test.description) accepted as \(response.head)")
        case (_, .success(let response)): try expect(response, of: test)
        case (_, .failure(let error)):
            switch error.reason {
            case .protocolViolation, .connectionLost, .tooLarge: break
            default: Issue.record("\(test.description): \(error)")
            }
        }
    }

    private func expect(_ response: RawResponse, of test: ResponseCase) throws {
        let expected = try #require(test.expect.ifAccepted)
        let comment = Comment(rawValue: test.description)
        #expect(response.head.status.code == expected.status, comment)
        #expect(lines(of: response.head.header) == expected.headers.map(lineBytes), comment)
        #expect(lines(of: response.trailers) == expected.trailers.map(lineBytes), comment)
        let body: Data? = if case .bytes(let body) = response.body { body } else { nil }
        #expect(body == expected.bodyB64, comment)
    }
}
