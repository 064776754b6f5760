/// A call with a completion handler, returned by `perform`.
///
/// The call completes exactly once, on its completion queue. Cancellation has priority until the completion handler
/// runs: after a ``cancel()`` on that queue the result is a cancellation, even if the value has already arrived. You do
/// not need to keep the task: a started call continues without it.
public final class RequestTask: Sendable {
    /// The state of a call.
    public enum State: Hashable, Sendable {
        /// The call has not ended its exchange: it has not been started, or it waits for its response.
        case running
        /// The exchange has ended. The response is validated and decoded, or the result waits for the completion queue.
        ///
        /// If retry middleware repeats the exchange because of the decoding, the state is ``running`` again.
        case processing
        /// The completion handler receives a value, or an error that is not a cancellation.
        case completed
        /// The call was cancelled, and the completion handler receives a cancellation.
        case cancelled

        /// Whether the state is final.
        package var isFinal: Bool { self == .completed || self == .cancelled }
    }

    typealias Start = @Sendable (RequestTask) -> Task<Void, Never>

    private struct Course {
        var state = State.running
        var attempt = 0
        var request: PreparedRequest?
        var progress = TransferProgress()
        /// The function that starts the call; taken when the call is started or cancelled.
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

        /// Returns whether the completion must be sent to its queue now; true only once.
        mutating func announce() -> Bool {
            defer { isAnnounced = true }
            return !isAnnounced
        }
    }

    private let course = Lock(Course())
    private let completion: any PendingCompletion

    /// Creates a call.
    ///
    /// `start` starts it, at most once, and `completion` receives its result.
    init(completion: any PendingCompletion, start: @escaping Start) {
        self.completion = completion
        course.withLock { $0.start = start }
    }
}

// MARK: Controlling and observing the call

extension RequestTask {
    /// Starts a call made with `startsImmediately: false`; has no effect on a call that is running or has ended.
    public func resume() {
        course.withLock { course in
            guard let start = course.start.take(), course.state == .running else { return }
            // The work starts under the lock: `cancel()` must find the work of every started call.
            course.work = start(self)
        }
    }

    /// Cancels the call; has no effect on a call that has ended.
    ///
    /// A call that was never started, or whose response is being decoded, completes at once. A call that waits for its
    /// response completes when the executor has ended the exchange; its connection is closed by then.
    public func cancel() {
        let (start, work, isAnnouncing) = course.withLock { course in
            guard !course.state.isFinal else { return (nil as Start?, nil as Task<Void, Never>?, false) }
            // Work that is under way completes the call itself, in `end()`, when the exchange has ended.
            let isEnding = course.state == .running && course.work != nil
            course.move(to: .cancelled)
            return (course.start.take(), course.work.take(), !isEnding && course.announce())
        }
        // Released outside the lock, because releasing what it captures can run any code.
        _ = consume start
        work?.cancel()
        if isAnnouncing { completion.announce(for: self) }
    }

    /// The current state of the call.
    public var state: State { course.withLock { $0.state } }

    /// The number of the current or last request, counting redirects; 0 before the first.
    public var attempt: Int { course.withLock { $0.attempt } }

    /// The current or last request; nil before the first.
    ///
    /// The task keeps it in memory, body included.
    public var request: PreparedRequest? { course.withLock { $0.request } }

    /// The progress of the exchange, as last reported.
    public var progress: TransferProgress { course.withLock { $0.progress } }

    /// The current state and all later ones, up to a final state.
    ///
    /// Each access returns a new sequence, for one reader.
    public var stateUpdates: AsyncStream<State> {
        let (stream, continuation) = AsyncStream.makeStream(of: State.self)
        course.withLock { course in
            continuation.yield(course.state)
            if course.state.isFinal { continuation.finish() } else { course.states.append(continuation) }
        }
        return stream
    }

    /// The progress, reported at most every 64 KiB or 50 ms, and at the end.
    ///
    /// A slow reader receives the latest progress. Each access returns a new sequence, for one reader.
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

// MARK: Reports of the call

extension RequestTask {
    /// Makes `request` report its progress to this task, in addition to its own handler.
    func watchProgress(of request: inout PreparedRequest) {
        let observer = request.progressHandler
        request.progressHandler = { [weak self] progress in
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

    func execute(_ request: PreparedRequest, attempt: Int) {
        course.withLock { course in
            course.request = request.outsideOfCall
            course.attempt = attempt
        }
    }

    /// Records that the exchange has ended.
    func process() {
        course.withLock { course in
            if course.state == .running { course.move(to: .processing) }
        }
    }

    /// Records that the exchange is repeated, because its response could not be decoded.
    func executeAgain() {
        course.withLock { course in
            if course.state == .processing { course.move(to: .running) }
        }
    }

    /// Records that the work has ended, and sends the completion to its queue.
    func end() {
        process()
        let isAnnouncing = course.withLock { course in
            course.work = nil
            return course.announce()
        }
        if isAnnouncing { completion.announce(for: self) }
    }

    /// Makes the final transition of a call that failed with `error` or has a value; called on the completion queue.
    ///
    /// - Returns: The error to complete with: `error`, or a cancellation if the call was cancelled before.
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

    /// Whether the completion has been sent to its queue; for tests.
    package var isAnnounced: Bool { course.withLock { $0.isAnnounced } }
}
