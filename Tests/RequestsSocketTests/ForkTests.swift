#if os(Linux)
import CRequestsPOSIX
@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import Testing

/// Runs `body` in a forked child, which has no thread but the calling one; whether it returned true there.
///
/// A thread of the parent may hold a lock of Swift's runtime or of malloc during the fork, and the child waits for it for
/// ever. That is no defect of the library, so a child that hangs is repeated; one that hangs each time fails the test.
private func inChild(_ body: () -> Bool) -> Bool {
    for _ in 0..<5 {
        let start = ContinuousClock.now
        let child = rp_fork()
        if child == 0 {
            // The signal ends the child, whatever it waits for; threads of the pool block signals.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGALRM)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            alarm(3)
            rp_exit_child(body() ? 0 : 1)
        }
        guard child > 0 else { return false }
        let status = rp_wait_for_child(child)
        // It is negative for every signal; those of a crash come earlier.
        let hasHung = status < 0 && ContinuousClock.now - start > .milliseconds(2_900)
        if !hasHung { return status == 0 }
    }
    return false
}

/// What a child inherits; nothing else refers to it, so that the child can release it.
private final class Inheritance: Sendable {
    private let executor = Lock<SocketExecutor?>(SocketExecutor())
    private let stream = Lock<ResponseStream?>(nil)

    func text(_ request: PreparedRequest) async throws -> String? {
        try await executor.withLock { $0 }?.execute(request).text
    }

    func beginStream(_ request: PreparedRequest) async throws {
        let new = try await executor.withLock { $0 }?.execute(request).stream
        stream.withLock { $0 = new }
    }

    func endStream() async throws -> Data? {
        try await stream.withLock { $0.take() }?.collect()
    }

    /// Releases all of it; whether so many sockets were closed.
    func release(closing count: Int) -> Bool {
        let before = openSockets()
        stream.withLock { $0.take() }.map { _ in () }
        executor.withLock { $0.take() }.map { _ in () }
        return openSockets() == before - count
    }
}

@Suite("After fork", .timeLimit(.minutes(5)))
struct ForkTests {
    @Test("a child that releases the executor, its connections and streams changes nothing for its parent (R-58)")
    func releasing() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in
                while line.receiveRequest() != nil {
                    // In pieces, so that calls wait at the reactor.
                    line.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
                    line.pause()
                    line.send("k")
                }
            }
            let inheritance = Inheritance()
            let request = try peer.request()
            let streamed = try peer.request(delivery: .streamed)
            for round in 0..<40 {
                async let first = inheritance.text(request)
                async let second = inheritance.text(request)
                #expect(try await [first, second] == ["ok", "ok"], "round \(round)")
                try await inheritance.beginStream(streamed)
                #expect(inChild { inheritance.release(closing: 2) }, "round \(round)")
                #expect(try await inheritance.endStream() == Data("ok".utf8), "round \(round)")
            }
            #expect(peer.connections == 2)
        }
    }

    @Test("in a child every call fails at once, awaited or not, and bodies cannot be read (R-58)")
    func calling() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in line.answerAll(ok) }
            let executor = SocketExecutor()
            let request = try peer.request()
            _ = try await executor.execute(request)
            for _ in 0..<10 {
                let failed = inChild {
                    do throws(RequestError) {
                        _ = try executor.executeAndWait(request)
                        return false
                    } catch {
                        return error.reason == .connectionFailed && !error.mayHaveReachedServer
                    }
                }
                #expect(failed)
                #expect(try await executor.execute(request).metrics.reusedConnection)
            }
            #expect(peer.connections == 1)
        }
    }
}
#endif
