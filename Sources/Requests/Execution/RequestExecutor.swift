/// A type that sends one request and returns its response, the only side effect of this library.
///
/// Executors give these guarantees, which the suite in the product RequestsConformance tests:
///
/// - One call sends one request. The only exception is a second transmission on a fresh connection when a pooled one
///   turns out to be closed; ``RawResponse/Metrics/transmissions`` counts it.
/// - A response is returned whatever its status is. Redirects are not followed and challenges are not handled; no
///   credentials, cookies or proxies are taken from the environment.
/// - Host, Content-Length, Transfer-Encoding and Connection belong to the executor. It refuses CR, LF and NUL in
///   everything that it would write, before it writes anything.
/// - The delivery, limits, timeouts and deadline of the request apply, and cancellation is prompt.
///   ``Timeouts/total`` is the limit of a call, which sets the deadline; an exchange alone does not apply it.
/// - A connection is never reused if its exchange was cancelled, failed, or was read only in part.
/// - ``RawResponse/head`` describes the delivered body: an executor that decodes a content coding removes
///   Content-Encoding and Content-Length and records both in the metrics.
/// - A streamed response owns its connection: reading it to the end returns the connection, and releasing it closes the
///   connection.
///
/// The call runs on the executor of its caller until it first suspends; ``Client`` keeps it off the actor of the
/// caller.
public protocol RequestExecutor: Sendable {
    /// Sends `request` and returns the response.
    ///
    /// - Throws: ``RequestError`` with the request and a reason that is the same for every executor.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse

    /// The properties of this executor that middleware around it must know; empty by default.
    ///
    /// The value must not change, because middleware reads it once.
    var traits: ExecutorTraits { get }
}

extension RequestExecutor {
    /// No traits.
    public var traits: ExecutorTraits { [] }
}

/// An executor that can perform an exchange on a blocked thread without a task (decision 0010).
package protocol BlockingExecutor: RequestExecutor {
    /// Performs as much of `execute(_:)` as possible on the calling thread, which may block.
    ///
    /// The guarantees are the same: the deadline ends the call, and so does the cancellation of the task that it is
    /// called from, if there is one, within 10 ms.
    func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution
}

/// An executor that can respond to some requests without a wait, so that a server needs no task for them (decision
/// 0046).
package protocol ImmediateExecutor: RequestExecutor {
    /// Performs `execute(_:)` up to its first possible wait, on the calling thread, which it does not block.
    ///
    /// - Returns: The response, without measurements and with the bytes of its body even if the request specifies a
    ///   stream; or the remaining work.
    /// - Throws: The error of `execute(_:)`.
    func executeImmediately(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution
}

/// The result of the work of an executor on the thread of a blocking call, or of an ``ImmediateExecutor``.
package enum BlockingExecution: Sendable {
    /// The exchange is complete.
    case response(RawResponse)
    /// The exchange is incomplete; the function, which is called once, in a task, finishes it.
    case deferred(@Sendable () async throws(RequestError) -> RawResponse)
}

/// An executor for blocking calls, with the result of the check whether it can block.
///
/// The check includes a cast, which takes as long as reading a few fields of a response, so a ``Client``
/// makes it once (decision 0047).
@usableFromInline
package struct InPlaceExecutor: Sendable {
    /// The executor itself.
    @usableFromInline let base: any RequestExecutor
    /// The same executor, or one that defers its exchanges if it cannot block.
    private let blocking: any BlockingExecutor

    @usableFromInline
    init(_ executor: some RequestExecutor) {
        base = executor
        blocking = executor as? any BlockingExecutor ?? SuspendingExecutor(base: executor)
    }

    /// Performs as much of an exchange as possible on the calling thread; defers it if the executor cannot block.
    @inline(__always)  // otherwise it copies the response
    package func begin(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        try blocking.executeBlocking(request)
    }
}

/// An executor that defers all exchanges of blocking calls.
private struct SuspendingExecutor: BlockingExecutor {
    let base: any RequestExecutor

    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try await base.sending(request)
    }

    func executeBlocking(_ request: PreparedRequest) throws(RequestError) -> BlockingExecution {
        .deferred { () async throws(RequestError) in try await base.sending(request) }
    }
}
