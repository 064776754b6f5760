import Requests
import RequestsMiddleware

/// The cost that middleware adds to a request while it has nothing to do.
struct MiddlewareCost: Sendable {
    let rounds: Int
    let scale: Double

    /// An executor that returns the same response at once.
    private final class FixedExecutor: BlockingExecutor {
        private let response: RawResponse

        init(_ response: RawResponse) {
            self.response = response
        }

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse { response }

        func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
            .response(response)
        }
    }

    @concurrent
    func figures() async throws -> [Figure] {
        let request = try PreparedRequest(url: URL("https://api.example.com/v1"))
        let bare = FixedExecutor(
            RawResponse(
                head: ResponseHead(status: 200, header: .empty, target: request.target), body: .bytes(Data())))
        let passing = bare.intercepting { request, next in try await next.execute(request) }
        let retrying = bare.retrying()
        var (async, blocking, passingBlocking): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<rounds {
            let without = try await microseconds(of: bare, request)
            async.append(try await microseconds(of: retrying, request) - without)
            let withoutBlocking = try blockingMicroseconds(of: bare, request)
            passingBlocking.append(try blockingMicroseconds(of: passing, request) - withoutBlocking)
            blocking.append(try blockingMicroseconds(of: retrying, request) - withoutBlocking)
        }
        return [
            .of("middleware that passes requests on adds, blocking", "µs", passingBlocking, goal: "≤ 0.3 µs"),
            .of("retrying() without a failure adds, async", "µs", async, goal: "≤ 0.3 µs"),
            .of("retrying() without a failure adds, blocking", "µs", blocking, goal: "≤ 0.3 µs"),
        ]
    }

    private var count: Int { max(1, Int(100_000 * scale)) }

    @inline(never)
    private func microseconds(of executor: any RequestExecutor, _ request: PreparedRequest) async throws -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count { _ = try await executor.execute(request) }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }

    @inline(never)
    private func blockingMicroseconds(of executor: any RequestExecutor, _ request: PreparedRequest) throws -> Double {
        let start = ContinuousClock.now
        for _ in 0..<count { _ = try executor.executeAndWait(request) }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(count)
    }
}
