import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Exchanges that use every part of the executor, each run while one call after another is made to go wrong.
private struct FaultSweep {
    /// What goes wrong at the n-th call.
    typealias Kind = @Sendable (_ number: Int) -> TransferFaults.Fault

    static let kinds: [Kind] = [
        { .failTransfer($0) }, { .shortenTransfer($0) }, { .delayTransfer($0) }, { .failWait($0) },
        { .failConnecting($0) },
    ]

    let folder = TemporaryDirectory()
    let peer: ScriptedPeer

    init() throws {
        try folder.write([UInt8](repeating: 97, count: 70_000), to: "body")
        peer = try ScriptedPeer { line, _, _ in Self.serve(line) }
    }

    /// Answers with the request's own path, framed as it asks for.
    private static func serve(_ line: borrowing ScriptedPeer.Line) {
        while let head = line.receiveRequest() {
            let path = head.split(separator: " ")[1]
            if head.contains("Expect: 100-continue") { line.send("HTTP/1.1 100 Continue\r\n\r\n") }
            guard readBody(line, head) else { return }
            // In two parts, so that the client has to wait.
            switch path.dropFirst(1).prefix(3) {
            case "chu":
                line.send("HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                line.pause()
                line.send(
                    "3\r\n\(path.prefix(3))\r\n\(String(path.count - 3, radix: 16))\r\n\(path.dropFirst(3))\r\n0\r\nT: u\r\n\r\n"
                )
            case "clo":
                line.send("HTTP/1.1 200 OK\r\n\r\n")
                line.pause()
                line.send("\(path)")
                return
            default:
                line.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.count)\r\n\r\n")
                line.pause()
                line.send("\(path)")
            }
        }
    }

    /// Reads what follows a head; false when it never ends.
    private static func readBody(_ line: borrowing ScriptedPeer.Line, _ head: String) -> Bool {
        var rest = String(head[(head.firstRange(of: "\r\n\r\n")?.upperBound ?? head.endIndex)...])
        if head.contains("Transfer-Encoding: chunked") {
            while !rest.hasSuffix("0\r\n\r\n"), !rest.hasSuffix("0\r\nT: u\r\n\r\n") {
                guard let more = line.receive() else { return false }
                rest += String(decoding: more, as: UTF8.self)
            }
            return true
        }
        let field = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        var left = (field.flatMap { Int($0.dropFirst(16)) } ?? 0) - rest.utf8.count
        while left > 0 {
            guard let more = line.receive() else { return false }
            left -= more.count
        }
        return true
    }

    /// One exchange of each sort; `id` is in its path.
    func requests(_ id: Int) throws -> [PreparedRequest] {
        let data = RequestBody.bytes(Data("abc".utf8))
        return [
            try peer.request(.get, "/counted-\(id)"),
            try peer.request(.get, "/chunked-\(id)", delivery: .streamed),
            try peer.request(.get, "/close-\(id)"),
            try peer.request(.get, "/file-\(id)", delivery: .file(path: folder.path(of: "answer"))),
            try peer.request(.post, "/chunked-\(id)", body: data),
            try peer.request(.put, "/stream-\(id)", body: stream(["ab", "c"]), delivery: .streamed),
            try peer.request(.put, "/sendfile-\(id)", body: .file(path: folder.path(of: "body"))),
            try peer.request(.put, "/copied-\(id)", body: .file(path: folder.path(of: "body"))),
            try peer.request(.post, "/expect-\(id)", body: data).with { $0.continueWait = .seconds(300) },
            try peer.request(.post, "/trailers-\(id)", body: stream(["abc"])).with {
                $0.trailers = RequestTrailers([Field(name: "T", value: "u")])
            },
        ]
    }

    /// What `response` says, however it was delivered.
    func text(_ response: RawResponse) async throws(RequestError) -> String? {
        switch response.body {
        case .bytes(let data): String(decoding: data, as: UTF8.self)
        case .stream(let stream): String(decoding: try await stream.collect(), as: UTF8.self)
        case .file: folder.read("answer").map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func onThread(
        _ request: PreparedRequest, by executor: SocketExecutor
    ) async throws(RequestError) -> RawResponse {
        let first = try RequestError.wrapping(.other) { try peer.request(.get, "/first") }
        _ = try await executor.execute(first)
        return try await RequestError.wrapping(.other) {
            try await RequestsSocketTests.onThread {
                Result { () throws(RequestError) in try executor.executeAndWait(request) }
            }.get()
        }
    }

    /// Runs the exchange at `place` with every n of `kind` going wrong until that is beyond its end; gives the last n.
    ///
    /// With `inPlace` a thread performs it that is blocked for it, after another exchange, whose connection it uses.
    func run(_ place: Int, _ kind: Kind, inPlace: Bool = false) async throws -> Int {
        for number in 1..<1_000 {
            let faults = TransferFaults(longestRead: 40, longestWrite: 20_000, kind(number), code: 104)
            let request = try requests(number)[place]
            let executor = SocketExecutor.with {
                $0.faults = faults
                $0.fileSending = request.target.path.hasPrefix("/sendfile") ? .byKernel : .copied
            }
            do throws(RequestError) {
                let text = try await text(inPlace ? onThread(request, by: executor) : executor.execute(request))
                #expect(text == request.target.path, "\(request) \(kind(number))")
            } catch {
                #expect(
                    [.connectionLost, .connectionFailed].contains(error.reason), "\(request) \(kind(number)): \(error)")
            }
            // Nothing is under way any more, and what is kept is good: the next request gets its own answer.
            #expect(executor.connections.open == executor.connections.idle, "\(request) \(kind(number))")
            guard faults.hasHappened else { return number }
            let next = try peer.request(.get, "/next-\(number)")
            #expect(try await executor.execute(next).text == "/next-\(number)", "\(request) \(kind(number))")
        }
        return .max
    }
}

@Suite("Every call going wrong", .timeLimit(.minutes(5)))
struct FaultSweepTests {
    @Test(
        "whichever transfer, wait or connection fails, is short or late: its own answer or an error, and none leaks (R-70)"
    )
    func everything() async {
        await #expect(processExitsWith: .success) {
            let sweep = try FaultSweep()
            _ = try Reactor.shared()
            let before = openSockets()
            let exchanges = try sweep.requests(0).count
            for place in 0..<exchanges {
                for (number, kind) in FaultSweep.kinds.enumerated() {
                    for inPlace in [false, true] {
                        let last = try await sweep.run(place, kind, inPlace: inPlace)
                        // Every exchange makes transfers, waits and connects; each of them has gone wrong.
                        #expect(last > 1 && last < 1_000, "exchange \(place), kind \(number), in place \(inPlace)")
                    }
                }
            }
            await eventually { openSockets() == before }
            #expect(try Reactor.shared().pendingWaits == 0)
        }
    }
}
