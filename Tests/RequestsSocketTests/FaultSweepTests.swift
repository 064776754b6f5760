import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Exchanges that use every part of the executor, each repeated with a fault in a different system call.
private struct FaultSweep {
    /// Returns the fault of the n-th system call.
    typealias Kind = @Sendable (_ number: Int) -> TransferFaults.Fault

    static let kinds: [Kind] = [
        { .failTransfer($0) }, { .shortenTransfer($0) }, { .delayTransfer($0) }, { .failWait($0) },
        { .failConnecting($0) },
    ]

    let folder = TemporaryDirectory()
    let peer: ScriptedPeer
    /// Whether the exchanges are over TLS.
    let isSecured: Bool

    init(isSecured: Bool = false) throws {
        try folder.write([UInt8](repeating: 97, count: 70_000), to: "body")
        self.isSecured = isSecured
        peer = try ScriptedPeer(securedWith: isSecured ? Secured.server() : nil) { line, _, _ in Self.serve(line) }
    }

    private func request(
        _ method: HTTPMethod, _ path: String, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: 1 << 20)
    ) throws -> PreparedRequest {
        guard isSecured else { return try peer.request(method, path, body: body, delivery: delivery) }
        return try peer.securedRequest(method, path, body: body, delivery: delivery)
    }

    /// Responds with the path of the request, in the framing that the path names.
    private static func serve(_ line: borrowing ScriptedPeer.Line) {
        while let head = line.receiveRequest() {
            let path = head.split(separator: " ")[1]
            if head.contains("Expect: 100-continue") { line.send("HTTP/1.1 100 Continue\r\n\r\n") }
            guard readBody(line, head) else { return }
            // The response is sent in two parts, so that the client waits.
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
                line.tls.end()
                return
            default:
                line.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.count)\r\n\r\n")
                line.pause()
                line.send("\(path)")
            }
        }
    }

    /// Reads the body of a request, and returns false if it does not end.
    private static func readBody(_ line: borrowing ScriptedPeer.Line, _ head: String) -> Bool {
        var remainder = String(head[(head.firstRange(of: "\r\n\r\n")?.upperBound ?? head.endIndex)...])
        if head.contains("Transfer-Encoding: chunked") {
            while !remainder.hasSuffix("0\r\n\r\n"), !remainder.hasSuffix("0\r\nT: u\r\n\r\n") {
                guard let more = line.receive() else { return false }
                remainder += String(decoding: more, as: UTF8.self)
            }
            return true
        }
        let field = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
        var remaining = (field.flatMap { Int($0.dropFirst(16)) } ?? 0) - remainder.utf8.count
        while remaining > 0 {
            guard let more = line.receive() else { return false }
            remaining -= more.count
        }
        return true
    }

    /// Returns a request of each kind, with `id` in its path.
    func requests(_ id: Int) throws -> [PreparedRequest] {
        let data = RequestBody.bytes(Data("abc".utf8))
        return [
            try request(.get, "/counted-\(id)"),
            try request(.get, "/chunked-\(id)", delivery: .streamed),
            try request(.get, "/close-\(id)"),
            try request(.get, "/file-\(id)", delivery: .file(path: folder.path(of: "response"))),
            try request(.post, "/chunked-\(id)", body: data),
            try request(.put, "/stream-\(id)", body: stream(["ab", "c"]), delivery: .streamed),
            try request(.put, "/sendfile-\(id)", body: .file(path: folder.path(of: "body"))),
            try request(.put, "/copied-\(id)", body: .file(path: folder.path(of: "body"))),
            try request(.post, "/expect-\(id)", body: data).with { $0.continueTimeout = .seconds(300) },
            try request(.post, "/trailers-\(id)", body: stream(["abc"])).with {
                $0.trailers = PreparedRequest.Trailers([Field(name: "T", value: "u")])
            },
        ]
    }

    /// Returns the text of `response`, whatever its delivery.
    func text(_ response: RawResponse) async throws(RequestError) -> String? {
        switch response.body {
        case .bytes(let data): String(decoding: data, as: UTF8.self)
        case .stream(let stream): String(decoding: try await stream.collect(), as: UTF8.self)
        case .file: folder.read("response").map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private func onThread(
        _ request: PreparedRequest, by executor: SocketExecutor
    ) async throws(RequestError) -> RawResponse {
        let first = try RequestError.wrapping(.other) { try self.request(.get, "/first") }
        _ = try await executor.execute(first)
        return try await RequestError.wrapping(.other) {
            try await RequestsSocketTests.onThread {
                Result { () throws(RequestError) in try executor.executeAndWait(request) }
            }.get()
        }
    }

    /// Repeats the exchange at `index` with a fault in its n-th system call until n exceeds their number; returns n.
    ///
    /// With `inPlace` it is a blocking call on the connection of a previous exchange.
    func run(_ index: Int, _ kind: Kind, inPlace: Bool = false) async throws -> Int {
        for number in 1..<1_000 {
            let faults = TransferFaults(
                longestRead: isSecured ? 400 : 40, longestWrite: 20_000, kind(number), code: 104)
            let request = try requests(number)[index]
            let trust: TLSConfiguration.Trust = isSecured ? try Secured.trust : .system
            let executor = SocketExecutor.with {
                $0.faults = faults
                $0.tls.trust = trust
                $0.fileSending = request.target.path.hasPrefix("/sendfile") ? .byKernel : .copied
            }
            do throws(RequestError) {
                let text = try await text(inPlace ? onThread(request, by: executor) : executor.execute(request))
                #expect(text == request.target.path, "\(request) \(kind(number))")
            } catch {
                #expect(
                    [.connectionLost, .connectionFailed].contains(error.reason), "\(request) \(kind(number)): \(error)")
            }
            // No connection is in use, and the idle ones are valid: the next request gets its own response.
            #expect(executor.connections.open == executor.connections.idle, "\(request) \(kind(number))")
            guard faults.hasHappened else { return number }
            let next = try self.request(.get, "/next-\(number)")
            #expect(try await executor.execute(next).text == "/next-\(number)", "\(request) \(kind(number))")
        }
        return .max
    }
}

@Suite("Faults in every system call", .timeLimit(.minutes(10)))
struct FaultSweepTests {
    @Test("a fault in any transfer, wait or connect results in the response or an error, without leaks", .rows("R-70"))
    func everything() async {
        await #expect(processExitsWith: .success) {
            let sweep = try FaultSweep()
            try await Self.run(sweep, exchanges: Array(0..<sweep.requests(0).count))
        }
    }

    @Test(
        "a fault in any transfer, wait or connect of a handshake or exchange over TLS has no leak",
        .rows("R-70", "S-49"),
        .notInstrumented("its cases only take long"),
        .enabled(if: Secured.isAvailable, Secured.comment))
    func overTLS() async {
        await #expect(processExitsWith: .success) {
            // A counted, a chunked and an unframed response, and bodies in memory, streamed and from a file.
            try await Self.run(FaultSweep(isSecured: true), exchanges: [0, 1, 2, 4, 5, 7])
        }
    }

    /// Performs the exchanges with each fault, and checks that nothing is left.
    private static func run(_ sweep: FaultSweep, exchanges: [Int]) async throws {
        _ = try Reactor.shared()
        let before = openSockets()
        for index in exchanges {
            for (number, kind) in FaultSweep.kinds.enumerated() {
                for inPlace in [false, true] {
                    let last = try await sweep.run(index, kind, inPlace: inPlace)
                    // Every exchange transfers, waits and connects, and each of these calls has failed once.
                    #expect(last > 1 && last < 1_000, "exchange \(index), kind \(number), in place \(inPlace)")
                }
            }
        }
        await eventually { openSockets() == before }
        #expect(try Reactor.shared().pendingWaits == 0)
    }
}
