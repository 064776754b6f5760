import Dispatch
@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import Testing

/// A clock that records its sleeps and passes them at once.
final class ManualClock: Sendable {
    private let state = Lock((elapsed: Duration.zero, sleeps: [Duration]()))
    /// The instant at which the clock begins, far in the future.
    ///
    /// Executors compare deadlines with the real time, and must not end a call at a deadline of this clock.
    let start = ContinuousClock.now + .seconds(3600)
    let date: Date

    init(date: Date = Date(timeIntervalSince1970: 784_111_777)) { self.date = date }

    /// The durations that were slept.
    var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// The clock for a middleware, with `random` as the source of jitter.
    func clock(random: @escaping @Sendable () -> Double = { 1 }) -> Retrying.Clock {
        Retrying.Clock(
            now: { [self] in start + state.withLock { $0.elapsed } }, date: { [date] in date },
            sleep: { [self] duration in
                state.withLock {
                    $0.elapsed += duration
                    $0.sleeps.append(duration)
                }
            }, random: random)
    }
}

/// A numbered series of responses; the last one repeats.
struct ResponseScript: Sendable {
    /// A response, or the error of an exchange.
    enum Step: Sendable {
        case response(MockResponse)
        case failure(RequestError)

        static func status(_ status: HTTPStatus, retryAfter: String? = nil) -> Step {
            var response = MockResponse.status(status, "{\"message\": \"no\"}", contentType: .json)
            if let retryAfter { response.header.add(Field(name: .retryAfter, value: retryAfter)) }
            return .response(response)
        }

        static func json(_ text: String) -> Step { .response(.ok(text, contentType: .json)) }

        /// A response whose body ends after two of ten bytes.
        static var truncated: Step {
            .response(
                MockResponse(
                    header: [.contentType(.json), Field(name: .contentLength, value: "10")],
                    body: [.bytes(Data("{\"".utf8)), .failure(RequestError(.connectionLost))]))
        }
    }

    let executor: MockExecutor

    init(_ steps: Step...) { self.init(steps) }

    init(_ steps: [Step]) {
        let next = Lock(0)
        executor = MockExecutor { _ in
            let index = next.withLock { number in
                defer { number += 1 }
                return min(number, steps.count - 1)
            }
            switch steps[index] {
            case .response(let response): return response
            case .failure(let error): throw error
            }
        }
    }

    /// The number of requests that were sent.
    var count: Int { executor.recordedCount }
}

/// A way to perform a call.
enum CallForm: String, CaseIterable, CustomTestStringConvertible {
    case awaited, blocking, completion

    var testDescription: String { rawValue }

    func response<Resource: Sendable>(
        for request: Request<AnonymousRequestProvider, Resource>, over executor: any RequestExecutor
    ) async throws(RequestError) -> TypedResponse<Resource> {
        switch self {
        case .awaited: return try await executor.response(for: request)
        case .blocking:
            return try await withTaskExecutorPreference(ThreadPerJob()) { () async throws(RequestError) in
                try Self.block { () throws(RequestError) in try executor.responseAndWait(for: request) }
            }
        case .completion:
            let result = await withCheckedContinuation { continuation in
                executor.perform(request, on: .global()) { continuation.resume(returning: $0) }
            }
            return try result.get()
        }
    }

    private static func block<Value>(_ body: () throws(RequestError) -> Value) throws(RequestError) -> Value {
        try body()
    }
}

/// Runs each job of a task on a thread of its own.
///
/// If blocking calls occupied the few threads of the pool, work that needs one, such as an exchange of URLSession,
/// would never end.
private final class ThreadPerJob: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        do {
            try DetachedThread.start(named: "caller") { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
            globalConcurrentExecutor.enqueue(job)
        }
    }
}

/// Runs `body` on a thread of its own, outside of all tasks.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try DetachedThread.start(named: "caller") { continuation.resume(with: Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Returns the error that `body` throws.
func failure<Value>(_ body: () async throws(RequestError) -> Value) async -> RequestError? {
    do throws(RequestError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// Returns a request with `method`.
func preparedRequest(_ method: HTTPMethod = .get, body: RequestBody = .none) throws -> PreparedRequest {
    try PreparedRequest(method: method, url: URL("http://e.com/x"), body: body)
}

/// The errors and statuses of each category.
enum SampleFailure {
    private static let head = (try? preparedRequest()).map {
        ResponseHead(status: 200, header: .empty, target: $0.target)
    }

    static let notSent: [RequestError] = [
        RequestError(.hostNotFound), RequestError(.connectionFailed), RequestError(.timedOut(.resolving)),
        RequestError(.timedOut(.waitingForConnection)), RequestError(.timedOut(.connecting)),
        RequestError(.connectionLost).beforeSending(),
    ]
    static let mayHaveArrived: [RequestError] = [
        RequestError(.connectionLost), RequestError(.timedOut(.sending)), RequestError(.timedOut(.firstByte)),
    ]
    static let broken: [RequestError] = [
        RequestError(.connectionLost, response: head), RequestError(.protocolViolation),
        RequestError(.timedOut(.betweenBytes), response: head),
    ]
    static let permanent: [RequestError] = [
        RequestError(.connectionFailed).permanent(), RequestError(.cancelled), RequestError(.timedOut(.total)),
        RequestError(.tooLarge(limit: 1)), RequestError(.unexpectedContentType, response: head),
        RequestError(.unexpectedRedirect), RequestError(.unsupportedScheme), RequestError(.bodyNotReplayable),
        RequestError(.bodyEncodingFailed), RequestError(.credentialsUnavailable), RequestError(.fileAccessFailed),
        RequestError(.decodingFailed, response: head), RequestError(.invalidRequest(.malformedURL)),
        RequestError(.executorClosed), RequestError(.notModified), RequestError(.unexpectedNoContent),
        RequestError(.other),
    ]

    static func status(_ status: HTTPStatus) -> RequestError {
        RequestError(
            .unacceptableStatus,
            response: head.map { ResponseHead(status: status, header: .empty, target: $0.target) })
    }
}
