import Dispatch
import Requests
import RequestsConformance
import TestSupport
import Testing

@Suite("The time of a cancellation", .timeLimit(.minutes(10)))
struct CancellationTimeTests {
    /// A call that has begun.
    private struct StartedCall {
        let cancel: @Sendable () -> Void
        /// The time at which the call ended, and its error.
        let end: Task<(ContinuousClock.Instant, RequestError?), Never>
    }

    private func start(
        _ request: Texts, over client: Client<AnonymousRequestProvider>, _ style: ExecutorUnderTest.CallStyle
    ) -> StartedCall {
        switch style {
        case .async:
            let task = Task {
                let error = await #expect(throws: RequestError.self) { try await client.perform(request) }
                return (ContinuousClock.now, error)
            }
            return StartedCall(cancel: { task.cancel() }, end: task)
        case .blocking:
            let task = Task(executorPreference: BlockingTaskExecutor()) {
                let result = client.block(on: request)
                return (ContinuousClock.now, result.error)
            }
            return StartedCall(cancel: { task.cancel() }, end: task)
        case .callback:
            let (ends, continuation) = AsyncStream.makeStream(of: (ContinuousClock.Instant, RequestError?).self)
            let task = client.perform(request, on: DispatchQueue(label: "test.completions")) { result in
                continuation.yield((.now, result.error))
            }
            let end = Task {
                for await end in ends { return end }
                return (.now, nil)
            }
            return StartedCall(cancel: { task.cancel() }, end: end)
        }
    }

    @Test(
        "the median of cancelled calls ends within 10 ms of its cancellation, in each style",
        .notInstrumented("its code is too slow"), .rows("R-67"), arguments: Peer.allCases,
        ExecutorUnderTest.CallStyle.allCases)
    func promptCancellation(peer: Peer, style: ExecutorUnderTest.CallStyle) async throws {
        let mock = MockExecutor(MockResponse.ok("hi").delayed(by: .endless))
        try await peer.run(serving: mock) { client, _ in
            var median = Duration.zero
            // Other tests may block the threads of all tasks, and so delay the calls of a round.
            for _ in 0..<10 {
                median = try await medianTime(of: style, over: client, to: mock)
                if median <= .milliseconds(10) { break }
            }
            #expect(median <= .milliseconds(10))
        }
    }

    /// Returns the median time from a cancellation to the end of its call.
    private func medianTime(
        of style: ExecutorUnderTest.CallStyle, over client: Client<AnonymousRequestProvider>, to mock: MockExecutor
    ) async throws -> Duration {
        let request = client.api.get(.text, from: "/x").with(timeouts: Timeouts(firstByte: nil))
        var times: [Duration] = []
        for number in 0..<51 {
            let count = mock.recordedCount
            let call = start(request, over: client, style)
            while mock.recordedCount == count { await Task.yield() }
            // A blocked thread checks every 10 ms, so calls are cancelled at different times between two checks.
            try await Task.sleep(for: .microseconds(number * 200))
            let cancellation = ContinuousClock.now
            call.cancel()
            let (end, error) = await call.end.value
            #expect(error?.reason == .cancelled)
            times.append(end - cancellation)
        }
        return times.sorted()[times.count / 2]
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}
