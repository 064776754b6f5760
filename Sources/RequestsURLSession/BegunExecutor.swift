@_spi(Lock) import Requests

/// Performs the requests of one call whose first task is already there: made, configured and not resumed.
///
/// Its first exchange is that task's; what follows a redirect has tasks of its own, with the priority and description
/// of the first. Dropped before its first exchange, it cancels the task.
final class BegunExecutor: RequestExecutor {
    private struct Beginning {
        let exchange: SessionExchange
        /// Where a body that has yet to be produced is stored.
        let spoolPath: String?
    }

    private let base: URLSessionExecutor
    private let first: Lock<Result<Beginning, RequestError>?>
    private let task: URLSessionTask?

    /// Makes the task of `request`.
    init(_ request: PreparedRequest, on base: URLSessionExecutor) {
        self.base = base
        let beginning = Result { () throws(RequestError) in try Self.begin(request, on: base) }
        first = Lock(beginning)
        task = try? beginning.get().exchange.task
    }

    deinit {
        if case .success(let beginning) = first.withLock({ $0.take() }) { beginning.exchange.cancel() }
    }

    /// Gives the task to `configure`; when none could be made, nothing is called.
    func configureTask(_ configure: (URLSessionTask) -> Void) {
        if let task { configure(task) }
    }

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        guard let beginning = first.withLock({ $0.take() }) else {
            return try await base.execute(request) { [task] following in
                guard let task else { return }
                following.priority = task.priority
                following.taskDescription = task.taskDescription
            }
        }
        do throws(RequestError) {
            return try await perform(beginning.get(), request)
        } catch {
            throw error.adding(request: request)
        }
    }

    private func perform(
        _ beginning: Beginning, _ request: PreparedRequest
    ) async throws(RequestError) -> RawResponse {
        beginning.exchange.tellProgress(to: request.onProgress)
        if let path = beginning.spoolPath {
            do throws(RequestError) {
                try await Upload.spool(request, to: path, limit: base.spoolLimit)
            } catch {
                beginning.exchange.cancel()
                throw error
            }
        }
        return try await base.perform(beginning.exchange)
    }

    private static func begin(
        _ request: PreparedRequest, on base: URLSessionExecutor
    ) throws(RequestError) -> Beginning {
        try request.checkBeforeSending()
        let upload = try Upload(request.body)
        let path = upload == nil ? Spool.newPath() : nil
        let exchange = try base.sessions.exchange(
            request, upload ?? Upload(spooledLaterTo: path ?? ""), since: base.sessions.generation)
        return Beginning(exchange: exchange, spoolPath: path)
    }
}
