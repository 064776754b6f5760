@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("A memory budget that executors share", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct SharedBudgetTests {
    /// The bytes of all bodies that are being collected, counted as the middleware behind the budget delivers them.
    private final class Meter: Sendable {
        private let state = Lock((bytes: 0, most: 0, isReleased: false))

        var bytes: Int { state.withLock { $0.bytes } }
        var most: Int { state.withLock { $0.most } }
        var isReleased: Bool { state.withLock { $0.isReleased } }

        func change(by count: Int) {
            state.withLock { state in
                state.bytes += count
                state.most = max(state.most, state.bytes)
            }
        }

        /// Allows the bodies to end.
        func release() { state.withLock { $0.isReleased = true } }
    }

    /// A body that its meter counts, and that ends only after the meter has been released.
    private final class MeteredBody: ResponseBody.Source {
        private let stream: ResponseStream
        private let meter: Meter
        private let count = Lock(0)

        init(_ stream: ResponseStream, _ meter: Meter) { (self.stream, self.meter) = (stream, meter) }

        deinit { meter.change(by: -count.withLock(\.self)) }

        var trailers: Header { stream.trailers }

        func next() async throws(RequestError) -> Data? {
            guard let chunk = try await stream.next() else {
                while !meter.isReleased {
                    if Task.isCancelled { throw RequestError(.cancelled) }
                    await Task.yield()
                }
                // The meter changes before the budget frees the space.
                meter.change(by: -count.withLock { exchange(&$0, with: 0) })
                return nil
            }
            count.withLock { $0 += chunk.count }
            meter.change(by: chunk.count)
            return chunk
        }
    }

    private static func executor(_ meter: Meter, within budget: MemoryBudget) -> any RequestExecutor {
        SocketExecutor().intercepting { request, next in
            var response = try await next.execute(request)
            guard case .stream(let stream) = response.body else { return response }
            response.body = .stream(ResponseStream(length: stream.length, MeteredBody(stream, meter)))
            return response
        }.collecting(within: budget)
    }

    @Test("the bodies of two executors over sockets share one budget, whatever their origins are")
    func executors() async throws {
        let (size, bodySize) = (512 << 10, 128 << 10)
        let (budget, meter) = (MemoryBudget(size), Meter())
        let body = pattern(bodySize)
        let served = MockExecutor { request in
            var response = MockResponse(body: [.bytes(body)])
            // A body with trailers has no Content-Length.
            if request.target.path == "/unknown" { response.trailers = [Field(name: "X-End", value: "1")] }
            return response
        }
        let executors = [Self.executor(meter, within: budget), Self.executor(meter, within: budget)]
        try await withTestServer(serving: served) { first in
            try await withTestServer(serving: served) { second in
                let bases = [first.baseURL, second.baseURL]
                let calls = (0..<16).map { number in
                    Task {
                        let api = AnonymousRequestProvider(baseURL: bases[number % 2])
                        return try await executors[number / 8].perform(api.get(.data, from: "/known"))
                    }
                }
                // Four bodies use the whole budget. The other twelve wait, including all of the second executor.
                while meter.bytes < size { await Task.yield() }
                for _ in 0..<1_000 { await Task.yield() }
                #expect(meter.bytes == size && budget.used == size)
                meter.release()
                for call in calls {
                    let data = try await call.value
                    #expect(data == body)
                }
                #expect(meter.most == size && meter.bytes == 0 && budget.used == 0)
                // A body of unknown length can fail, but never exceeds the budget.
                let (unknown, finished) = (SharedCounter(), SharedCounter())
                await withTaskGroup { group in
                    for number in 0..<64 {
                        group.addTask {
                            let api = AnonymousRequestProvider(baseURL: bases[number % 2])
                            let path: RequestPath = number % 4 < 2 ? "/known" : "/unknown"
                            do {
                                let data = try await executors[number / 32].perform(api.get(.data, from: path))
                                #expect(data == body)
                                finished.add()
                            } catch {
                                let cause = (error as? RequestError)?.underlying as? ProtectionError
                                #expect(cause == .memoryExhausted(budget: size) && path == "/unknown")
                                unknown.add()
                            }
                        }
                    }
                }
                #expect(finished.value >= 32)
                #expect(finished.value + unknown.value == 64)
                #expect(meter.most == size && meter.bytes == 0 && budget.used == 0)
            }
        }
    }
}
