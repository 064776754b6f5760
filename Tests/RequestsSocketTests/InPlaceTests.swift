import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// What `body` gives on a thread of its own.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try DetachedThread.start(named: "caller") { continuation.resume(returning: body()) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

extension SocketExecutor {
    /// What the calling thread comes to by itself: the response or an error, nil when the rest is left to a task.
    fileprivate func inPlace(_ request: PreparedRequest) -> Result<RawResponse, RequestError>? {
        do throws(RequestError) {
            guard case .response(let response) = try executeBlocking(request) else { return nil }
            return .success(response)
        } catch {
            return .failure(error)
        }
    }
}

@Suite("On the calling thread, without a task", .timeLimit(.minutes(5)))
struct InPlaceTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test("with an idle connection the thread does all of it, else nothing has been sent yet (HT-1, HT-4)")
    func idleOnly() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.answerAll(Self.ok) }
        let executor = SocketExecutor()
        let request = try peer.request()
        #expect(try await onThread { executor.inPlace(request) == nil })
        #expect(peer.connections == 0)
        #expect(try await executor.execute(request).text == "ok")
        let response = try await onThread { executor.inPlace(request) }?.get()
        #expect(response?.text == "ok" && response?.metrics.reusedConnection == true)
        #expect(peer.connections == 1 && executor.connections == (1, 1))
    }

    @Test("files, streams, Expect and streamed answers are left to a task, and then arrive (HT-1)")
    func leftToTask() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.answerAll(Self.ok) }
        let folder = TemporaryDirectory()
        try folder.write([97], to: "body")
        let executor = SocketExecutor()
        for request in [
            try peer.request(delivery: .streamed),
            try peer.request(delivery: .file(path: folder.path(of: "answer"))),
            try peer.request(.put, body: .file(path: folder.path(of: "body"))),
        ] {
            _ = try await executor.execute(peer.request())
            #expect(try await onThread { executor.inPlace(request) == nil }, "\(request)")
            let response = try await onThread {
                Result { () throws(RequestError) in try executor.executeAndWait(request) }
            }
            .get()
            #expect(response.head.status == .ok && response.metrics.reusedConnection)
        }
    }

    @Test(
        "the remaining work of a blocking call is done once: a second call is an error, also at the same time (HT-1, R-68)",
        arguments: [false, true])
    func once(isStale: Bool) async throws {
        let peer = try ScriptedPeer { line, number, _ in
            if isStale, number == 0 {
                _ = line.receiveRequest()
                line.send(Self.ok)
                _ = line.receiveRequest()
            } else {
                line.answerAll(Self.ok)
            }
        }
        let executor = SocketExecutor()
        let request = try peer.request()
        // What remains then is to replace the connection, else it is everything.
        if isStale { _ = try await executor.execute(request) }
        let execution = try await onThread { Result { try executor.executeBlocking(request) } }.get()
        guard case .suspended(let remaining) = execution else {
            Issue.record("nothing remains")
            return
        }
        let calls = (0..<8).map { _ in Task { try await remaining() } }
        var errors: [RequestError?] = []
        for call in calls {
            if case .failure(let error) = await call.result {
                errors.append(error as? RequestError)
            } else {
                #expect(try await call.value.text == "ok")
            }
        }
        #expect(errors.count == 7 && errors.allSatisfy { $0?.reason == .other && $0?.request == request })
        #expect(errors.first??.description.contains("was called twice") == true)
        #expect(peer.connections == (isStale ? 2 : 1))
    }

    @Test("a dead idle connection is replaced, and that is counted (R-42, R-43)")
    func stale() async throws {
        let peer = try ScriptedPeer { line, number, _ in
            _ = line.receiveRequest()
            line.send(Self.ok)
            // The first connection goes away as soon as it is used again.
            if number == 0 { _ = line.receiveRequest() } else { line.answerAll(Self.ok) }
        }
        let executor = SocketExecutor()
        let request = try peer.request()
        _ = try await executor.execute(request)
        let response = try await onThread {
            Result { () throws(RequestError) in try executor.executeAndWait(request) }
        }.get()
        #expect(response.text == "ok" && response.metrics.sendings == 2 && !response.metrics.reusedConnection)
        #expect(peer.connections == 2)
    }

    @Test("bodies of every size go both ways, at once (R-17, HT-1)", arguments: [0, 1, 100, 70_000, 3_000_000])
    func sizes(size: Int) async throws {
        let body = [UInt8](repeating: 97, count: size)
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest(bodyLength: 0) != nil {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n")
                line.send(body)
            }
        }
        let executor = SocketExecutor()
        let request = try peer.request(delivery: .collected(limit: 1 << 22))
        _ = try await executor.execute(request)
        let response = try await onThread { executor.inPlace(request) }?.get()
        #expect(response?.body.byteCount == size)
        let chunked = try ScriptedPeer { line, _, _ in
            while let head = line.receiveRequest() {
                var left =
                    size
                    - (head.utf8.count
                        - (head.firstRange(of: "\r\n\r\n").map {
                            head.utf8.distance(from: head.startIndex, to: $0.upperBound)
                        } ?? 0))
                while left > 0 { left -= line.receive()?.count ?? left }
                line.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: u\r\n\r\n")
            }
        }
        let upload = try chunked.request(.post, body: .bytes(Data(body)))
        _ = try await executor.execute(upload)
        let answer = try await onThread { executor.inPlace(upload) }?.get()
        #expect(answer?.text == "ok" && answer?.trailers["T"] == "u")
    }

    @Test("limits of time end it, with the reason of that wait (R-48)")
    func limits() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            _ = line.receiveRequest()
            line.send(Self.ok)
            line.waitForStop()
        }
        let request = try peer.request()
        for isTotal in [false, true] {
            let executor = SocketExecutor()
            _ = try await executor.execute(request)
            let start = ContinuousClock.now
            let limited = request.with {
                $0.deadline = isTotal ? start + .milliseconds(30) : nil
                $0.timeouts.firstByte = isTotal ? nil : .milliseconds(30)
            }
            let outcome = try await onThread { executor.inPlace(limited) }
            #expect(outcome?.failure?.reason == .timedOut(isTotal ? .total : .firstByte))
            #expect(ContinuousClock.now - start >= .milliseconds(30))
            #expect(executor.connections == (0, 0))
        }
    }

    @Test("an answer that takes longer than one wait arrives all the same (R-48, HT-1)")
    func late() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil {
                for _ in 0..<6 { line.pause() }
                line.send(Self.ok, piece: 20)
            }
        }
        let executor = SocketExecutor()
        let request = try peer.request()
        _ = try await executor.execute(request)
        #expect(try await onThread { executor.inPlace(request) }?.get().text == "ok")
    }

    @Test(
        "the file that a task sends afterwards on the same connection blocks no thread (R-48)",
        arguments: FileSending.allCases)
    func fileAfterwards(way: FileSending) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            for _ in 0..<2 {
                _ = line.receiveRequest()
                line.send(Self.ok)
            }
            line.waitForStop()
        }
        let folder = TemporaryDirectory()
        try folder.write([UInt8](repeating: 97, count: 32 << 20), to: "body")
        let executor = SocketExecutor.with { $0.fileSending = way }
        let request = try peer.request()
        _ = try await executor.execute(request)
        #expect(try await onThread { executor.inPlace(request) }?.get().text == "ok")
        let upload = try peer.request(.put, body: .file(path: folder.path(of: "body"))).with {
            $0.timeouts.betweenBytes = .milliseconds(50)
        }
        #expect(await executor.failure(of: upload)?.reason == .timedOut(.sending))
    }

    @Test("the cancellation of a task that blocks its thread ends it, and its connection (R-67)")
    func cancelled() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            _ = line.receiveRequest()
            line.send(Self.ok)
            _ = line.receiveRequest()
            peer.note("second")
            line.waitForEnd()
        }
        let executor = SocketExecutor()
        let request = try peer.request()
        _ = try await executor.execute(request)
        let call = Task { executor.inPlace(request) }
        await eventually { peer.notes == ["second"] }
        call.cancel()
        #expect(await call.value?.failure?.reason == .cancelled)
        #expect(executor.connections == (0, 0))
    }

    @Test("a body over the limit, a cut body and nonsense are what they are for a task, and close (R-5, R-25, R-14)")
    func bad() async throws {
        for (answer, reason) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789", RequestError.Reason.tooLarge(limit: 5)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12", .connectionLost),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1", .protocolViolation),
        ] {
            let peer = try ScriptedPeer { line, _, _ in
                _ = line.receiveRequest()
                line.send(Self.ok)
                _ = line.receiveRequest()
                line.send(answer)
            }
            let executor = SocketExecutor()
            let request = try peer.request(delivery: .collected(limit: 5))
            _ = try await executor.execute(request)
            let outcome = try await onThread { executor.inPlace(request) }
            #expect(outcome?.failure?.reason == reason)
            #expect(executor.connections == (0, 0))
        }
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension ResponseBody {
    fileprivate var byteCount: Int? {
        if case .bytes(let data) = self { data.count } else { nil }
    }
}
