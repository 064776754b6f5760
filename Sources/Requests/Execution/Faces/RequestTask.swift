/// A call that tells a completion what came of it: what the forms of `perform` with a completion give.
///
/// It completes exactly once, on its completion queue, whatever races with what. Cancelling wins until the very moment
/// of completing: a ``cancel()`` from that queue before the completion runs makes it a cancellation, also when the value
/// is already there. Nobody has to keep it: a call that has been started goes on without.
public final class RequestTask: Sendable {
    /// How far a call has come.
    public enum State: Hashable, Sendable {
        /// It has not been started, or waits for its response.
        case running
        /// The exchange is over; its response is validated and decoded, or waits for the completion queue.
        case processing
        /// The completion has been given a value, or an error that is no cancellation.
        case completed
        /// It was cancelled; the completion is given that, or has been.
        case cancelled

        /// Whether no other state follows.
        public var isFinal: Bool { self == .completed || self == .cancelled }
    }

    typealias Start = @Sendable (RequestTask) -> Task<Void, Never>

    private struct Course {
        var state = State.running
        var attempt = 0
        var request: PreparedRequest?
        var progress = TransferProgress()
        /// What starts the call; taken when it is started or cancelled.
        var start: Start?
        var work: Task<Void, Never>?
        var isAnnounced = false
        var states: [AsyncStream<State>.Continuation] = []
        var progresses: [AsyncStream<TransferProgress>.Continuation] = []

        mutating func move(to state: State) {
            self.state = state
            for observer in states { observer.yield(state) }
            guard state.isFinal else { return }
            for observer in states { observer.finish() }
            for observer in progresses { observer.finish() }
            states = []
            progresses = []
        }

        /// Whether it is now that the completion has to be sent to its queue.
        mutating func announce() -> Bool {
            defer { isAnnounced = true }
            return !isAnnounced
        }
    }

    private let course = Lock(Course())
    private let completion: any PendingCompletion

    /// A call that is started by `start`, which is run at most once, and told to `completion`.
    init(completion: any PendingCompletion, start: @escaping Start) {
        self.completion = completion
        course.withLock { $0.start = start }
    }
}

// MARK: What others do

extension RequestTask {
    /// Starts a call that was made with `start: false`; one that runs, or is over, is left alone.
    public func resume() {
        course.withLock { course in
            guard let start = course.start.take(), course.state == .running else { return }
            course.work = start(self)
        }
    }

    /// Cancels the call; one that is over is left alone.
    ///
    /// One that was never started, and one that is being decoded, completes at once; one that waits for its response
    /// completes when the exchange has ended, which its executor sees to, so that its connection is closed by then.
    public func cancel() {
        let (start, work, isAnnouncing) = course.withLock { course in
            guard !course.state.isFinal else { return (nil as Start?, nil as Task<Void, Never>?, false) }
            let isEnding = course.state == .running && course.work != nil
            course.move(to: .cancelled)
            return (course.start.take(), course.work.take(), !isEnding && course.announce())
        }
        // Dropped here, outside the lock: what it holds may be the last of its kind.
        _ = consume start
        work?.cancel()
        if isAnnouncing { completion.announce(for: self) }
    }

    /// How far the call has come.
    public var state: State { course.withLock { $0.state } }

    /// The number of the request that is or was under way, redirects counted: 0 before the first.
    public var attempt: Int { course.withLock { $0.attempt } }

    /// The request that is or was under way; nil before the first.
    public var request: PreparedRequest? { course.withLock { $0.request } }

    /// How far the exchange has come, as of the last report.
    public var progress: TransferProgress { course.withLock { $0.progress } }

    /// The state now, and every one that follows; ends after a final one.
    ///
    /// Each call gives a sequence of its own, for one reader.
    public var states: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self)
        course.withLock { course in
            continuation.yield(course.state)
            if course.state.isFinal { continuation.finish() } else { course.states.append(continuation) }
        }
        return stream
    }

    /// The progress, at most every 64 KiB or 50 ms, and at the end; a slow reader gets the latest.
    ///
    /// Each call gives a sequence of its own, for one reader.
    public var progressUpdates: AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self, bufferingPolicy: .bufferingNewest(1))
        course.withLock { course in
            continuation.yield(course.progress)
            if course.state.isFinal { continuation.finish() } else { course.progresses.append(continuation) }
        }
        return stream
    }
}

// MARK: What the call tells

extension RequestTask {
    /// Has the exchange's progress told here too.
    func watchProgress(of request: inout PreparedRequest) {
        let observer = request.onProgress
        request.onProgress = { [weak self] progress in
            self?.report(progress)
            observer?(progress)
        }
    }

    private func report(_ progress: TransferProgress) {
        course.withLock { course in
            course.progress = progress
            for observer in course.progresses { observer.yield(progress) }
        }
    }

    /// A request is handed to the executor.
    func execute(_ request: PreparedRequest, attempt: Int) {
        course.withLock { course in
            course.request = request
            course.attempt = attempt
        }
    }

    /// The response is there, or will not come.
    func process() {
        course.withLock { course in
            if course.state == .running { course.move(to: .processing) }
        }
    }

    /// The work is done: what came of it waits for the completion queue.
    func end() {
        process()
        let isAnnouncing = course.withLock { course in
            course.work = nil
            return course.announce()
        }
        if isAnnouncing { completion.announce(for: self) }
    }

    /// The last transition, made on the completion queue, of a call that failed with `error` or has a value.
    ///
    /// Gives the error to complete with: that one, or a cancellation when the call was cancelled before.
    func complete(with error: RequestError?) -> RequestError? {
        course.withLock { course in
            if course.state != .cancelled {
                course.move(to: error?.isCancellation == true ? .cancelled : .completed)
                return error
            }
            if let error, error.isCancellation { return error }
            let own = RequestError(.cancelled).adding(request: course.request, attempts: max(1, course.attempt))
            return course.attempt == 0 ? own.beforeSending() : own
        }
    }

    /// Whether the completion is on its way; for tests.
    package var isAnnounced: Bool { course.withLock { $0.isAnnounced } }
}
