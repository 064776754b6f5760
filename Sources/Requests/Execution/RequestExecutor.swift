/// Performs one exchange, the only effect in this library: a request goes out, its response comes back.
///
/// What an executor promises, and the suite in the product RequestsConformance checks:
///
/// - One call is one request on the wire. The only exception is resending on a fresh connection after a pooled one
///   turned out to be dead, counted in ``RawResponse/Metrics/sendings``.
/// - A response is returned whatever its status. Redirects are not followed, challenges not answered; no credentials,
///   cookies or proxies are taken from the environment.
/// - Host, Content-Length, Transfer-Encoding and Connection belong to the executor. CR, LF and NUL are refused in
///   anything it would write, before it writes.
/// - The request's delivery, limits, timeouts and deadline are honoured, and cancellation is prompt. A connection whose
///   exchange was cancelled, failed or half-read is never used again.
/// - ``RawResponse/head`` describes the body delivered: an executor that undoes a content coding removes
///   Content-Encoding and Content-Length and records both in the metrics.
/// - A streamed response owns its connection; reading to the end returns it, dropping the response closes it.
///
/// The call runs where its caller runs until it first waits; see ``Client`` for keeping it off the caller's actor.
public protocol RequestExecutor: Sendable {
    /// Sends `request` and gives the response.
    ///
    /// - Throws: ``RequestError`` with a reason that is the same on every executor, and the request.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse

    /// Does what it can of ``execute(_:)`` on the calling thread, which may be blocked for that.
    ///
    /// Blocking calls ask for this first; what is handed back they do in a task, which costs more. The promises are the
    /// same: the deadline ends it, and so does the cancellation of the task it is called from, if it is, at the latest
    /// 10 ms later. Without an implementation of its own an executor hands everything back.
    ///
    /// - Throws: ``RequestError`` with a reason that is the same on every executor.
    func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution
}

/// How far an executor came on the thread of a blocking call.
public enum BlockingExecution: Sendable {
    /// To the end.
    case response(RawResponse)
    /// Not to the end: what is left, to be called once, in a task.
    case suspended(@Sendable () async throws(RequestError) -> RawResponse)
}

extension RequestExecutor {
    /// Hands everything back.
    public func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        .suspended { () async throws(RequestError) in try await self.execute(request) }
    }
}
