import Dispatch
@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import Testing

/// An executor that records whether a task performs its exchanges.
private final class TaskRecorder: BlockingExecutor {
    private let records = Lock<[Bool]>([])
    private let base: any RequestExecutor

    init(_ base: any RequestExecutor) { self.base = base }

    /// Whether each exchange so far was performed by a task.
    var tasks: [Bool] { records.withLock(\.self) }

    private func record() {
        let isInTask = withUnsafeCurrentTask { $0 != nil }
        records.withLock { $0.append(isInTask) }
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        record()
        return try await base.execute(request)
    }

    func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        record()
        return .response(try base.executeAndWait(request))
    }
}

@Suite("Middleware in a blocking call", .timeLimit(.minutes(10)))
struct InPlaceMiddlewareTests {
    private static let environment = RequestEnvironment(string: "http://e.com/")

    /// Performs a blocking call outside of all tasks.
    private func performOnThread(
        _ executor: any RequestExecutor, _ request: PreparedRequest? = nil
    ) async throws -> HTTPStatus {
        let request = try request ?? preparedRequest()
        return try await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result { try executor.executeAndWait(request).head.status }
                continuation.resume(returning: result)
            }
        }.get()
    }

    @Test("retries, credentials and codings with nothing to do need no task")
    func idle() async throws {
        let recorder = TaskRecorder(MockExecutor { _ in .ok("body") })
        let environment = try #require(Self.environment)
        let token = RefreshableAuthenticator(bearerToken: "t") { $0 }
        let executor = recorder.decodingContent().retrying().authenticating(with: token, within: environment)
        #expect(try await performOnThread(executor) == 200)
        #expect(recorder.tasks == [false])
        let opaque: any RequestExecutor = executor
        #expect(try await performOnThread(opaque.retrying()) == 200)
        #expect(recorder.tasks == [false, false])
    }

    @Test("what follows a failure runs in a task, after an exchange in place")
    func repetition() async throws {
        let count = Lock(0)
        let recorder = TaskRecorder(
            MockExecutor { _ in
                let number = count.withLock { count in
                    count += 1
                    return count
                }
                return .status(number == 1 ? 503 : 200)
            })
        let executor = recorder.decodingContent().retrying(
            .retryStatuses([503], with: .retryOnce), clock: ManualClock().clock())
        #expect(try await performOnThread(executor) == 200)
        #expect(recorder.tasks == [false, true])
    }

    @Test("a rejection is handled in a task, after an exchange in place")
    func rejection() async throws {
        let recorder = TaskRecorder(
            MockExecutor { $0.header[.authorization] == "Bearer new" ? .ok("body") : .status(401) })
        let environment = try #require(Self.environment)
        let credentials = RefreshableAuthenticator(bearerToken: "old") { _ in "new" }
        let executor = recorder.authenticating(with: credentials, within: environment)
        #expect(try await performOnThread(executor) == 200)
        #expect(recorder.tasks == [false, true])
    }

    @Test("a streamed response is released before its request is sent again behind a limit of one request")
    func released() async throws {
        let body = [MockResponse.BodyEvent.chunks(count: 1_000) { _ in Data(count: 1_000) }]
        let count = Lock(0)
        let mock = MockExecutor { request in
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { return MockResponse(status: 503, body: body) }
            return request.header[.authorization] == "Bearer new" ? .ok("body") : MockResponse(status: 401, body: body)
        }
        let environment = try #require(Self.environment)
        let recorder = TaskRecorder(mock.limitingConcurrency(to: 1))
        let credentials = RefreshableAuthenticator(bearerToken: "old") { _ in "new" }
        let clock = Retrying.Clock(sleep: { _ in })
        let executor = recorder.retrying(.retryStatuses([503], with: .retryOnce), clock: clock)
            .authenticating(with: credentials, within: environment)
        var request = try preparedRequest()
        request.delivery = .streamed
        // A call that waits for itself ends at its deadline.
        request.deadline = .now + .seconds(60)
        #expect(try await performOnThread(executor, request) == 200)
        #expect(recorder.tasks == [false, true, true])
    }

    @Test("middleware that is a function runs in a task, and so does everything behind it")
    func function() async throws {
        let recorder = TaskRecorder(MockExecutor { _ in .ok("body") })
        let executor = recorder.retrying().intercepting { request, next in try await next.execute(request) }.retrying()
        #expect(try await performOnThread(executor) == 200)
        #expect(recorder.tasks == [true])
    }

    @Test("an error of an exchange in place has the request with its credentials")
    func failedRequest() async throws {
        struct Failing: BlockingExecutor {
            func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
                throw RequestError(.connectionFailed, request: request).permanent()
            }

            func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
                throw RequestError(.connectionFailed, request: request).permanent()
            }
        }
        let environment = try #require(Self.environment)
        let executor = Failing().decodingContent().retrying().authenticating(
            with: FixedCredentials.bearerToken("t"), within: environment)
        let error = await #expect(throws: RequestError.self) { try await performOnThread(executor) }
        #expect(error?.request?.header[.authorization] == "Bearer t")
    }
}
