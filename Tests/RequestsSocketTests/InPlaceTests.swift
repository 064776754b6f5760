import Dispatch
@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// Returns the result of `body`, run on a separate thread.
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
    /// Returns the result of a blocking call.
    func inPlace(_ request: PreparedRequest) -> Result<RawResponse, RequestError> {
        Result { () throws(RequestError) in try executeAndWait(request) }
    }
}

@Suite("Blocking calls over sockets", .timeLimit(.minutes(10)))
struct InPlaceTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test("the calling thread performs the call, with an idle connection or a new one", .rows("HT-1", "HT-4"))
    func connections() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(Self.ok) }
        let executor = SocketExecutor()
        let request = try peer.request()
        for isReused in [false, true] {
            let response = try await onThread { executor.inPlace(request) }.get()
            #expect(response.text == "ok" && response.metrics.isReusedConnection == isReused)
        }
        #expect(peer.connections == 1 && executor.connections == (1, 1))
    }

    @Test("500 threads are blocked at once with 1,024 descriptors", .rows("HT-1"))
    func manyThreads() async throws {
        let arrivals = Lock(0)
        let allHaveArrived = DispatchSemaphore(value: 0)
        let peer = try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            let isLast = arrivals.withLock { count in
                count += 1
                return count == 500
            }
            if isLast { for _ in 0..<500 { allHaveArrived.signal() } }
            _ = allHaveArrived.wait(timeout: .now() + 60)
            line.send(Self.ok)
            line.waitForEnd()
        }
        let url = "\(try peer.request().target)"
        await #expect(processExitsWith: .success) { [url = url as String] in
            #expect(DescriptorLimit.set(1_024))
            let executor = SocketExecutor.with {
                $0.maximumConnectionsPerOrigin = 500
                $0.maximumConnections = 500
            }
            let request = try PreparedRequest(url: #require(URL(string: url)))
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<500 {
                    group.addTask { try await onThread { (try? executor.inPlace(request).get())?.text == "ok" } }
                }
                return try await group.reduce(0) { $1 ? $0 + 1 : $0 }
            }
            #expect(count == 500)
        }
        peer.stop()
    }

    @Test("streamed responses, downloads, file bodies and produced bodies", .rows("HT-1"))
    func deliveries() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(Self.ok) }
        let folder = TemporaryDirectory()
        try folder.write([97], to: "body")
        let executor = SocketExecutor()
        for request in [
            try peer.request(delivery: .file(path: folder.path(of: "response"))),
            try peer.request(.put, body: .file(path: folder.path(of: "body"))),
            try peer.request(.put, body: .stream(length: 1, isReplayable: true) { SentChunks(chunks: ["a"]) }),
        ] {
            _ = try await executor.execute(peer.request())
            let response = try await onThread { executor.inPlace(request) }.get()
            #expect(response.head.status == .ok && response.metrics.isReusedConnection == true, "\(request)")
        }
        let streamed = try peer.request(delivery: .streamed)
        let stream = try await onThread { executor.inPlace(streamed) }.get().body
        guard case .stream(let pieces) = stream else {
            Issue.record("no stream: \(String(describing: stream))")
            return
        }
        #expect(try await pieces.collect(limit: 2) == Data("ok".utf8))
    }

    @Test("a task that outlives its blocking call keeps its sleep and its wait for a response", .rows("HT-1"))
    func outlivingTasks() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            guard line.receiveRequest() != nil else { return }
            peer.note("received")
            while peer.notes.count < 2 { line.pause() }
            line.send(Self.ok)
            line.waitForEnd()
        }
        let (executor, request) = (SocketExecutor(), try peer.request())
        let wake = Deadline.after(.milliseconds(100))
        let tasks = Lock<[Task<Bool, Never>]>([])
        try await onThread {
            _ = CallingThread.run(limits: nil) {
                let thread = CallingThread.current
                let sleeping = Task(executorPreference: thread) {
                    (try? await CallingThread.sleep(until: wake)) != nil && wake.hasPassed
                }
                let waiting = Task(executorPreference: thread) { (try? await executor.execute(request).text) == "ok" }
                tasks.withLock { $0 = [sleeping, waiting] }
                // Both wait on this thread then.
                while peer.notes.isEmpty { await Task.yield() }
                for _ in 0..<100 { await Task.yield() }
            }
        }
        peer.note("call ended")
        for task in tasks.withLock({ $0 }) { #expect(await task.value) }
        peer.stop()
    }

    @Test("a stale idle connection is replaced, and the transmission is counted", .rows("R-42"))
    func stale() async throws {
        let peer = try ScriptedPeer { line, number, _ in
            _ = line.receiveRequest()
            line.send(Self.ok)
            // The first connection closes when it is used again.
            if number == 0 { _ = line.receiveRequest() } else { line.respondToAll(Self.ok) }
        }
        let executor = SocketExecutor()
        let request = try peer.request()
        _ = try await executor.execute(request)
        let response = try await onThread { executor.inPlace(request) }.get()
        #expect(response.text == "ok" && response.metrics.transmissions == 2 && !response.metrics.isReusedConnection)
        #expect(peer.connections == 2)
    }

    @Test(
        "bodies of every size are sent and received", .rows("R-14", "HT-1"),
        arguments: [0, 1, 100, 70_000, 3_000_000])
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
        let response = try await onThread { executor.inPlace(request) }.get()
        #expect(response.body.byteCount == size)
        let chunked = try ScriptedPeer { line, _, _ in
            while let head = line.receiveRequest() {
                var remaining =
                    size
                    - (head.utf8.count
                        - (head.firstRange(of: "\r\n\r\n").map {
                            head.utf8.distance(from: head.startIndex, to: $0.upperBound)
                        } ?? 0))
                while remaining > 0 { remaining -= line.receive()?.count ?? remaining }
                line.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: u\r\n\r\n")
            }
        }
        let upload = try chunked.request(.post, body: .bytes(Data(body)))
        _ = try await executor.execute(upload)
        let uploaded = try await onThread { executor.inPlace(upload) }.get()
        #expect(uploaded.text == "ok" && uploaded.trailers["T"] == "u")
    }

    @Test("a time limit ends a blocking call with the reason of its phase", .rows("R-48"))
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
            #expect(outcome.failure?.reason == .timedOut(isTotal ? .total : .firstByte))
            #expect(ContinuousClock.now - start >= .milliseconds(30))
            #expect(executor.connections == (0, 0))
        }
    }

    @Test("a response that takes longer than one wait is received", .rows("R-48", "HT-1"))
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
        #expect(try await onThread { executor.inPlace(request) }.get().text == "ok")
    }

    @Test(
        "a file that a task then sends on the same connection respects its time limit", .rows("R-48"),
        arguments: FileSending.allCases)
    func fileAfterwards(sending: FileSending) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest()?.hasPrefix("GET") == true { line.send(Self.ok) }
            line.waitForStop()
        }
        let folder = TemporaryDirectory()
        try folder.write([UInt8](repeating: 97, count: 32 << 20), to: "body")
        let executor = SocketExecutor.with { $0.fileSending = sending }
        let request = try peer.request()
        _ = try await executor.execute(request)
        #expect(try await onThread { executor.inPlace(request) }.get().text == "ok")
        let upload = try peer.request(.put, body: .file(path: folder.path(of: "body"))).with {
            $0.timeouts.betweenBytes = .milliseconds(50)
        }
        let error = await executor.failure(of: upload)
        #expect(error?.reason == .timedOut(.sending), "\(String(reflecting: error))")
        // Otherwise another peer may have the port by now.
        withExtendedLifetime(peer) {}
    }

    @Test("cancelling its task ends a blocking call and closes its connection", .rows("R-67"))
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
        #expect(await call.value.failure?.reason == .cancelled)
        #expect(executor.connections == (0, 0))
    }

    @Test("cancelling its task ends a blocking call whose middleware performs exchanges without a pause", .rows("R-67"))
    func cancelledBetweenExchanges() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(Self.ok) }
        let executor = SocketExecutor().intercepting { request, next in
            let end = ContinuousClock.now.advanced(by: .seconds(20))
            while !Task.isCancelled, .now < end { _ = try await next.execute(request) }
            return try await next.execute(request)
        }
        let request = try peer.request()
        @Sendable func reason() -> RequestError.Reason? {
            do throws(RequestError) {
                _ = try executor.executeAndWait(request)
                return nil
            } catch {
                return error.reason
            }
        }
        let call = Task { reason() }
        // A separate thread, because blocking calls of other tests may occupy the threads of all tasks.
        try DetachedThread.start(named: "canceller") {
            repeat {
                _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(50))
            } while peer.connections == 0
            call.cancel()
        }
        #expect(await call.value == .cancelled)
    }

    @Test(
        "bodies over the limit, truncated bodies and invalid framing are the errors of a task",
        .rows("R-9", "R-20", "R-25"))
    func invalid() async throws {
        for (response, reason) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789", RequestError.Reason.tooLarge(limit: 5)),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n12", .connectionLost),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n1", .protocolViolation),
        ] {
            let peer = try ScriptedPeer { line, _, _ in
                _ = line.receiveRequest()
                line.send(Self.ok)
                _ = line.receiveRequest()
                line.send(response)
            }
            let executor = SocketExecutor()
            let request = try peer.request(delivery: .collected(limit: 5))
            _ = try await executor.execute(request)
            let outcome = try await onThread { executor.inPlace(request) }
            #expect(outcome.failure?.reason == reason)
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
