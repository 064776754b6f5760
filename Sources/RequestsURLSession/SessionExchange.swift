@_spi(Lock) import Requests

/// One exchange over a session: what the delegate tells of it, what its caller waits for, and which limits run.
///
/// All that changes is under one lock, and ends once: whatever ends it first (the last byte, an error, a limit,
/// cancellation) is what the caller gets, and what comes later is not heard. Continuations are resumed, tasks cancelled
/// and observers told outside the lock.
final class SessionExchange: Sendable {
    typealias Answer = Result<RawResponse, RequestError>
    typealias Chunk = Result<Data?, RequestError>

    let request: PreparedRequest
    let task: URLSessionTask
    let key: ExchangeRegistry.Key
    /// Whether the task's session has no other task, so that it has a connection of its own.
    let isAlone: Bool
    private let upload: Upload
    let registry: ExchangeRegistry
    private let began = ContinuousClock.now
    private let state: Lock<State>
    /// Nil when nobody is told.
    private let progress = Lock<ProgressReporter?>(nil)

    struct State {
        var patience: Patience
        /// When the registry's alarm looks at this exchange, at the latest.
        var wakesAt: ContinuousClock.Instant?
        var metrics = RawResponse.Metrics()
        var head: ResponseHead?
        var receiver = ReceivedBody.collected(limit: 0, isWhole: true)
        var isChallengeRefused = false
        /// What has arrived: the whole of a collected body, or what a reader has not taken yet.
        var body = Data()
        var isHeld = false
        /// Bytes of the body that the session has taken, and how many of them were for earlier transmissions.
        var sent = 0
        var sentBefore = 0
        /// What the call gives, from when it is known until the caller has it.
        var answer: Answer?
        var isAnswered = false
        /// How the exchange ended, once it has.
        var ending: Result<Void, RequestError>?
        var caller: CheckedContinuation<Answer, Never>?
        var reader: CheckedContinuation<Chunk, Never>?
    }

    /// What is to be done when the lock has been left.
    struct Consequences {
        var isOver = false
        var cancelsTask = false
        var resumesTask = false
        var wake: ContinuousClock.Instant?
        var caller: (CheckedContinuation<Answer, Never>, Answer)?
        var reader: (CheckedContinuation<Chunk, Never>, Chunk)?
        var held: Bool?
    }

    /// The exchange of a new task of `session`, which has not been resumed yet.
    init(
        _ request: PreparedRequest, _ urlRequest: URLRequest, _ upload: Upload, in session: URLSession, isAlone: Bool,
        registry: ExchangeRegistry
    ) {
        self.request = request
        self.upload = upload
        self.isAlone = isAlone
        task = Platform.task(for: urlRequest, sending: upload, in: session)
        key = ExchangeRegistry.Key(session, task)
        self.registry = registry
        state = Lock(State(patience: Patience(request)))
        tellProgress(to: request.onProgress)
    }

    /// Tells the progress from now on.
    func tellProgress(to observer: (@Sendable (TransferProgress) -> Void)?) {
        guard let observer else { return }
        var reporter = ProgressReporter(observer)
        reporter.progress.totalToSend = upload.length
        progress.withLock { [reporter] in $0 = reporter }
    }

    /// Changes the state and does what follows from it.
    private func update(_ change: (inout State, inout Consequences) -> Void) {
        let consequences = state.withLock { state in
            let before = state.wakesAt
            var consequences = Consequences()
            change(&state, &consequences)
            if let answer = state.answer, let caller = state.caller.take() {
                consequences.caller = (caller, answer)
                state.answer = nil
            }
            if state.ending == nil, let next = state.patience.next, before.map({ next < $0 }) ?? true {
                state.wakesAt = next
                consequences.wake = next
            }
            return consequences
        }
        if consequences.isOver { leave() }
        if consequences.cancelsTask { registry.outsideOfSession { [task] in task.cancel() } }
        if consequences.resumesTask { start() }
        if let isHeld = consequences.held { isHeld ? Platform.hold(task) : Platform.release(task) }
        if let wake = consequences.wake { registry.wake(at: wake) }
        if let (caller, answer) = consequences.caller { caller.resume(returning: answer) }
        if let (reader, chunk) = consequences.reader { reader.resume(returning: chunk) }
    }
}

// MARK: Starting and ending

extension SessionExchange {
    /// Resumes the task, once the gate admits it when it has a connection of its own.
    private func start() {
        guard isAlone else { return task.resume() }
        if registry.gate.enter(self) { task.resume() }
        // It may have been cancelled before it entered; nobody else would take it out then.
        if state.withLock({ $0.ending != nil }) { registry.gate.leave(self) }
    }

    /// Resumes the task for the gate, which may do so on another session's queue.
    func resumeTask() {
        // The queues of all sessions have one target: waiting there for another session ends the process.
        registry.outsideOfSession { [task] in task.resume() }
    }

    private func leave() {
        registry.remove(self)
        if isAlone { registry.gate.leave(self) }
    }
}

// MARK: What the caller does

extension SessionExchange {
    /// Sends the request and gives the response.
    func run() async throws(RequestError) -> RawResponse {
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { caller in
                update { state, consequences in
                    state.caller = caller
                    guard state.answer == nil else { return }
                    state.patience.wait(for: (upload.length ?? 1) > 0 ? .connecting : .firstByte)
                    consequences.resumesTask = true
                }
            }
        } onCancel: {
            cancel()
        }
        return try answer.get()
    }

    /// Ends the exchange and discards the part of a streamed body that has not been read.
    func cancel() {
        update { state, consequences in
            let error = RequestError(.cancelled)
            state.end(state.caller == nil && !state.isAnswered ? error.beforeSending() : error, &consequences)
            state.discardBody(error)
        }
    }

    /// The next bytes of a streamed body; nil at the end.
    func nextChunk() async throws(RequestError) -> Data? {
        if Task.isCancelled { cancel() }
        let chunk = await withTaskCancellationHandler {
            await withCheckedContinuation { reader in
                update { state, consequences in state.read(for: reader, &consequences) }
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

// MARK: What the session tells

extension SessionExchange {
    func refuseChallenge() {
        update { state, _ in state.isChallengeRefused = true }
    }

    /// Runs `answer` unless the exchange has ended; true when it ran.
    ///
    /// The exchange's task is not cancelled meanwhile.
    func whileUnderWay(_ answer: () -> Void) -> Bool {
        state.withLock { state in
            guard state.ending == nil else { return false }
            answer()
            return true
        }
    }

    /// Takes what the session has measured of the connection.
    func measure(isReused: Bool, connecting: Duration?) {
        update { state, _ in
            state.metrics.reusedConnection = isReused
            state.metrics.connecting = isReused ? nil : connecting
        }
    }

    /// Takes the number of bytes sent in all, those of earlier transmissions included.
    func didSend(_ total: Int) {
        var count = 0
        update { state, _ in
            state.sent = total
            count = total - state.sentBefore
            guard state.head == nil else { return }
            state.patience.wait(for: count == upload.length ? .firstByte : .sending)
        }
        report { $0.sent = count }
    }

    /// The body from its beginning, because the session sends the request again.
    func bodyStreamForResending() -> InputStream? {
        update { state, _ in
            state.sentBefore = state.sent
            if state.ending == nil, state.head == nil { state.patience.wait(for: .sending) }
        }
        return Platform.bodyStream(of: upload)
    }

    func receive(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        guard response.statusCode >= 200 else { return receiveInterim(response.statusCode) }
        let elapsed = ContinuousClock.now - began
        update { state, consequences in
            guard state.ending == nil, state.head == nil else { return }
            state.metrics.untilHead = elapsed
            do throws(RequestError) {
                let head = try ResponseHead(received: response, to: request, noting: &state.metrics)
                state.head = head
                state.patience.wait(for: .betweenBytes)
                try state.prepare(for: request, head)
                if case .streamed = state.receiver { state.handOver(stream(head)) }
            } catch {
                state.end(error, &consequences)
            }
        }
        let length = state.withLock { $0.head?.bodyLength(answering: request.method) }
        report { $0.totalToReceive = length }
    }

    /// libcurl hands interim responses over as well; a protocol that nobody asked for is none (RFC 9110 §15.2.2).
    private func receiveInterim(_ status: Int) {
        guard status == 101 else { return }
        let error = RequestError(.protocolViolation, detail: "101, and no other protocol was asked for")
        update { state, consequences in state.end(error, &consequences) }
    }

    private func stream(_ head: ResponseHead) -> ResponseStream {
        ResponseStream(length: head.bodyLength(answering: request.method), StreamedBody(self))
    }

    func receive(_ data: Data) {
        // Told first, because the caller may go on with what follows.
        report { $0.received += data.count }
        update { state, consequences in
            guard state.ending == nil else { return }
            state.take(data, &consequences)
        }
    }

    func complete(_ response: URLResponse?, _ error: (any Error)?) {
        // A 302 with an empty Location is told of only now.
        if let response, state.withLock({ $0.head == nil }) { receive(response) }
        report(atEnd: true) { _ in }
        update { state, consequences in
            guard state.ending == nil else { return }
            if let failure = upload.failure.value { return state.end(failure, &consequences) }
            let failure = error.map(SessionFailure.init)
            if let failure, let error, !(failure.code == .cancelled && state.isChallengeRefused && state.head != nil) {
                let reason = failure.reason(of: Platform.implementation)
                state.end(RequestError(reason, detail: failure.text, underlying: error), &consequences)
            } else {
                state.complete(&consequences)
            }
        }
    }

    /// Ends the exchange when a limit has passed; otherwise gives the next instant to look.
    func expire(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var next: ContinuousClock.Instant?
        update { state, consequences in
            guard state.ending == nil else { return }
            guard let phase = state.patience.passed(at: now) else {
                next = state.patience.next
                state.wakesAt = next
                return
            }
            let error = RequestError(.timedOut(phase))
            state.end(error, &consequences)
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
