import Dispatch
@_spi(Lock) import Requests

/// One exchange over a session: the delegate's events, the waiting caller and the running time limits.
///
/// All mutable state is protected by one lock. The exchange ends once: the first of the last byte, an error, a time
/// limit or a cancellation determines its result, and later events are ignored. Outside the lock, continuations are
/// resumed, tasks cancelled and progress handlers called. The task is made after the limits have begun, so the limits
/// and a cancellation end the exchange even while making the task waits (decision 0059).
final class SessionExchange: Sendable {
    typealias Outcome = Result<RawResponse, RequestError>
    typealias Chunk = Result<Data?, RequestError>

    let request: PreparedRequest
    /// Whether the session has no other task, so that the task uses a new connection.
    let isAlone: Bool
    private let upload: Upload
    private let sessions: Sessions
    private let configure: @Sendable (URLSessionTask) -> Void
    private let startTime = Deadline.now
    private let state: Lock<State>
    /// The reporter of the progress; nil if the request has no progress handler.
    private let progress = Lock<ProgressReporter?>(nil)

    struct State {
        /// The task; nil until it has been created.
        var task: URLSessionTask?
        var session: URLSession?
        /// Whether the task has been resumed, so that the request may reach the server.
        var isResumed = false
        /// Signalled when the task has been made or the exchange ends.
        var taskSignal: DispatchSemaphore?
        var timeLimits: SessionTimeLimits
        /// The instant of the latest scheduled check of this exchange's time limits.
        var nextCheck: Deadline?
        var metrics = RawResponse.Metrics()
        var head: ResponseHead?
        var receiver = ReceivedBody.collected(limit: 0, mustBeWhole: true)
        var isChallengeRefused = false
        /// The received bytes: all of a collected body, or the unread part of a streamed body.
        var body = Data()
        var isReceivingPaused = false
        /// The number of body bytes that the session has read, and how many of them belong to earlier transmissions.
        var sent = 0
        var sentBefore = 0
        /// The result of the call, from when it is known until the caller receives it.
        var outcome: Outcome?
        var hasOutcome = false
        /// The result of the exchange, once it has ended.
        var ending: Result<Void, RequestError>?
        var caller: CheckedContinuation<Outcome, Never>?
        var reader: CheckedContinuation<Chunk, Never>?
    }

    /// Actions to perform outside the lock after a change of state.
    struct Effects {
        var isOver = false
        var cancelsTask = false
        var startsTask = false
        var task: URLSessionTask?
        var taskSignal: DispatchSemaphore?
        var nextCheck: Deadline?
        var caller: (CheckedContinuation<Outcome, Never>, Outcome)?
        var reader: (CheckedContinuation<Chunk, Never>, Chunk)?
        var pausesReceiving: Bool?
    }

    /// Creates an exchange whose task `sessions` makes, and `configure` configures.
    init(
        _ request: PreparedRequest, _ upload: Upload, in sessions: Sessions,
        configuring configure: @escaping @Sendable (URLSessionTask) -> Void
    ) {
        self.request = request
        self.upload = upload
        self.sessions = sessions
        self.configure = configure
        isAlone = Platform.needsOwnConnection(request)
        state = Lock(State(timeLimits: SessionTimeLimits(request)))
        reportProgress(to: request.progressHandler)
    }

    /// Reports the progress to `observer` from now on; nil leaves the observer unchanged.
    func reportProgress(to observer: (@Sendable (TransferProgress) -> Void)?) {
        guard let observer else { return }
        let reporter = ProgressReporter(observer, sending: upload.length)
        progress.withLock { $0 = reporter }
    }

    /// Changes the state under the lock, then applies the effects outside it.
    private func update(_ change: (inout State, inout Effects) -> Void) {
        let effects = state.withLock { state in
            let before = state.nextCheck
            var effects = Effects()
            change(&state, &effects)
            effects.task = state.task
            if effects.isOver { effects.taskSignal = state.taskSignal.take() }
            if let outcome = state.outcome, let caller = state.caller.take() {
                effects.caller = (caller, outcome)
                state.outcome = nil
            }
            if state.ending == nil, let next = state.timeLimits.next, before.map({ next < $0 }) ?? true {
                state.nextCheck = next
                effects.nextCheck = next
            }
            return effects
        }
        // The order matters: an exchange is no longer registered when its caller resumes.
        if effects.isOver { leave() }
        if let nextCheck = effects.nextCheck { sessions.registry.scheduleExpiration(at: nextCheck) }
        if effects.startsTask { start() }
        if let task = effects.task {
            if effects.cancelsTask { sessions.registry.runOutsideSession { task.cancel() } }
            if let pauses = effects.pausesReceiving {
                sessions.registry.runOutsideSession { pauses ? Platform.pause(task) : Platform.resume(task) }
            }
        }
        effects.taskSignal?.signal()
        if let (caller, outcome) = effects.caller { caller.resume(returning: outcome) }
        if let (reader, chunk) = effects.reader { reader.resume(returning: chunk) }
    }
}

// MARK: The task

extension SessionExchange {
    /// Whether the exchange has not ended.
    var isActive: Bool { state.withLock { $0.ending == nil } }

    /// The task; nil until it has been made.
    var task: URLSessionTask? { state.withLock { $0.task } }

    /// The session of the task; nil until the task has been made.
    var session: URLSession? { state.withLock { $0.session } }

    /// Returns a new task of `session`, which is not resumed; waits while transfers occupy the session.
    func newTask(in session: URLSession) -> URLSessionTask {
        let task = Platform.task(for: URLRequest(request, sending: upload), sending: upload, in: session)
        if let priority = request.options.priority { task.priority = priority.ofSessionTask }
        configure(task)
        return task
    }

    /// Makes `task` the task of this exchange; returns false if the exchange has ended.
    func attach(_ task: URLSessionTask, of session: URLSession) -> Bool {
        state.withLock { state in
            guard state.ending == nil else { return false }
            (state.task, state.session) = (task, session)
            return true
        }
    }

    /// Makes the task, and blocks the thread until it exists.
    ///
    /// - Throws: `RequestError` if a time limit passes first, or the executor is reset.
    func makeTask() throws(RequestError) -> URLSessionTask {
        let signal = DispatchSemaphore(value: 0)
        update { state, effects in
            guard state.ending == nil else { return effects.taskSignal = signal }
            state.taskSignal = signal
            state.waitForResponse(to: upload)
        }
        sessions.makeTask(of: self) { _ in signal.signal() }
        signal.wait()
        update { state, _ in
            state.taskSignal = nil
            state.timeLimits.stopWaiting()
        }
        let (task, ending) = state.withLock { ($0.task, $0.ending) }
        if case .failure(let error) = ending { throw error }
        guard let task else { throw RequestError(.cancelled).beforeSending() }
        return task
    }

    /// Makes the task if there is none, and resumes it; with its own connection, once the gate admits it.
    private func start() {
        guard isAlone else { return startTask() }
        if sessions.gate.enter(self) { startTask() }
        // The exchange may have ended before it entered the gate; nothing else would remove it then.
        if !isActive { sessions.gate.leave(self) }
    }

    /// Makes the task if there is none, and resumes it, unless the exchange ends first.
    func startTask() {
        sessions.makeTask(of: self) { task in
            let mayResume = self.state.withLock { state in
                guard state.ending == nil else { return false }
                state.isResumed = true
                return true
            }
            if mayResume { task?.resume() }
        }
    }

    private func leave() {
        sessions.registry.remove(self)
        if isAlone { sessions.gate.leave(self) }
    }
}

// MARK: Calls of the caller

extension SessionExchange {
    /// Sends the request and returns the response.
    func run() async throws(RequestError) -> RawResponse {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                update { state, effects in
                    state.caller = caller
                    guard state.outcome == nil else { return }
                    state.waitForResponse(to: upload)
                    effects.startsTask = true
                }
            }
        } onCancel: {
            cancel()
        }
        return try outcome.get()
    }

    /// Ends the exchange and discards the unread part of a streamed body.
    func cancel() {
        update { state, effects in
            let error = state.error(.cancelled)
            state.end(error, &effects)
            state.discardBody(error)
        }
    }

    /// Returns the next bytes of a streamed body; nil at the end.
    func nextChunk() async throws(RequestError) -> Data? {
        if Task.isCancelled { cancel() }
        let chunk = await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                update { state, effects in state.read(for: reader, &effects) }
            }
        } onCancel: {
            cancel()
        }
        do throws(RequestError) {
            return try chunk.get()
        } catch {
            throw error.adding(request: request)
        }
    }
}

// MARK: Events of the session

extension SessionExchange {
    /// Records that a challenge was rejected; the session then ends the task with an error although there is a
    /// response.
    func refuseChallenge() {
        update { state, _ in state.isChallengeRefused = true }
    }

    /// Ends the exchange with `error`, because its server was refused.
    func refuseServer(_ error: RequestError) {
        update { state, effects in state.end(error, &effects) }
    }

    /// Records the connection metrics of the session.
    func measure(isReused: Bool, connecting: Duration?) {
        update { state, _ in
            state.metrics.isReusedConnection = isReused
            state.metrics.timeToConnect = isReused ? nil : connecting
        }
    }

    /// Records the total number of body bytes sent, earlier transmissions included.
    func didSend(_ total: Int) {
        var count = 0
        update { state, _ in
            state.sent = total
            count = total - state.sentBefore
            guard state.head == nil else { return }
            state.timeLimits.wait(for: count == upload.length ? .firstByte : .sending)
        }
        report { $0.bytesSent = count }
    }

    /// Returns the body from its beginning, because the session sends the request again.
    func bodyStreamForResending() -> InputStream? {
        update { state, _ in
            state.sentBefore = state.sent
            if state.ending == nil, state.head == nil { state.timeLimits.wait(for: .sending) }
        }
        return Platform.bodyStream(of: upload)
    }

    func receive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        guard response.statusCode >= 200 else { return receiveInterimResponse(response.statusCode) }
        let elapsed = Duration.nanoseconds(Deadline.now.nanoseconds(since: startTime))
        update { state, effects in
            guard state.ending == nil, state.head == nil else { return }
            state.metrics.timeToResponseHead = elapsed
            do throws(RequestError) {
                let head = try ResponseHead(received: response, to: request, noting: &state.metrics)
                state.head = head
                state.timeLimits.wait(for: .betweenBytes)
                try state.prepare(for: request, head)
                if case .streamed = state.receiver { state.deliver(stream(head)) }
            } catch {
                state.end(error, &effects)
            }
        }
        let length = state.withLock { $0.head?.bodyLength(for: request.method) }
        report { $0.bytesExpectedToReceive = length }
    }

    /// Handles an interim response, which libcurl reports as well.
    ///
    /// An unsolicited 101 is a protocol violation (RFC 9110 §15.2.2).
    private func receiveInterimResponse(_ status: Int) {
        guard status == 101 else { return }
        let error = RequestError(.protocolViolation, detail: "unsolicited 101 Switching Protocols (RFC 9110 §15.2.2)")
        update { state, effects in state.end(error, &effects) }
    }

    private func stream(_ head: ResponseHead) -> ResponseStream {
        ResponseStream(length: head.bodyLength(for: request.method), SessionBodySource(self))
    }

    func receive(_ data: Data) {
        // Reported before the caller is resumed, which may depend on the report.
        report { $0.bytesReceived += data.count }
        update { state, effects in
            guard state.ending == nil else { return }
            state.take(data, &effects)
        }
    }

    func complete(_ response: URLResponse?, _ error: (any Error)?) {
        // Foundation reports a 302 with an empty Location only here.
        if let response, state.withLock({ $0.head == nil }) { receive(response) }
        report(atEnd: true) { _ in }
        update { state, effects in
            guard state.ending == nil else { return }
            if let failure = upload.failure.value { return state.end(failure, &effects) }
            let failure = error.map(SessionFailure.init)
            if let failure, let error, !(failure.code == .cancelled && state.isChallengeRefused && state.head != nil) {
                let reason = failure.reason(of: Platform.implementation)
                let error = RequestError(reason, detail: failure.text, underlying: error)
                state.end(failure.isPermanent ? error.permanent() : error, &effects)
            } else {
                state.complete(&effects)
            }
        }
    }

    /// Ends the exchange if a limit has passed at `now`.
    ///
    /// Otherwise returns the instant of the next check; nil for none.
    func expire(at now: Deadline) -> Deadline? {
        var next: Deadline?
        update { state, effects in
            guard state.ending == nil else { return }
            guard let phase = state.timeLimits.passed(at: now) else {
                next = state.timeLimits.next
                state.nextCheck = next
                return
            }
            let error = state.error(.timedOut(phase))
            state.end(error, &effects)
            state.discardBody(error)
        }
        return next
    }

    private func report(atEnd: Bool = false, _ change: (inout TransferProgress) -> Void) {
        progress.withLock { reporter in
            guard var current = reporter else { return }
            change(&current.progress)
            current.report(atEnd: atEnd)
            reporter = current
        }
    }
}
