@_spi(Lock) import Requests

/// An executor for one call whose first task already exists: it has been created and configured, but not resumed.
///
/// The first exchange uses that task. Exchanges after a redirect have separate tasks, with the priority and the
/// description of the first. An executor that is released before its first exchange cancels the task.
final class FirstTaskExecutor: RequestExecutor {
    private struct FirstExchange {
        let exchange: SessionExchange
        /// The path of the file for a streamed body; nil for all other bodies.
        let spoolPath: String?
    }

    private let base: URLSessionExecutor
    /// The first exchange, or the reason why it could not be made; nil once it has been used.
    private let first: Lock<Result<FirstExchange, RequestError>?>
    private let task: URLSessionTask?

    /// Creates an executor and the task that sends `request`.
    init(_ request: PreparedRequest, on base: URLSessionExecutor) {
        self.base = base
        let result = Result { () throws(RequestError) in try Self.makeFirstExchange(request, on: base) }
        first = Lock(result)
        task = (try? result.get())?.exchange.task
    }

    deinit {
        if case .success(let first) = first.withLock({ $0.take() }) { first.exchange.cancel() }
    }

    /// Calls `configure` with the task; does nothing if the task could not be created.
    func configureTask(with configure: (URLSessionTask) -> Void) {
        if let task { configure(task) }
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        guard let result = first.withLock({ $0.take() }) else {
            return try await base.execute(request) { [task] nextTask in
                guard let task else { return }
                nextTask.priority = task.priority
                nextTask.taskDescription = task.taskDescription
            }
        }
        do throws(RequestError) {
            return try await perform(result.get(), request)
        } catch {
            throw error.adding(request: request)
        }
    }

    private func perform(_ first: FirstExchange, _ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        // The `RequestTask` of the call has replaced the handler since the task was created.
        first.exchange.reportProgress(to: request.progressHandler)
        if let path = first.spoolPath {
            do throws(RequestError) {
                try await Upload.spool(request, to: path, limit: base.spoolLimit)
            } catch {
                first.exchange.cancel()
                throw error
            }
        }
        return try await base.perform(first.exchange)
    }

    private static func makeFirstExchange(
        _ request: PreparedRequest, on base: URLSessionExecutor
    ) throws(RequestError) -> FirstExchange {
        try request.checkBeforeSending(in: base.sessions)
        let upload = try Upload(request.body)
        let path = upload == nil ? Spool.newPath() : nil
        let exchange = try base.sessions.exchange(
            request, upload ?? Upload(pendingFile: path ?? ""), since: base.sessions.generation)
        // The caller configures the task object, which a session creates only together with the task.
        _ = try exchange.makeTask()
        return FirstExchange(exchange: exchange, spoolPath: path)
    }
}
