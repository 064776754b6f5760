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
/// - A connection is never reused if its exchange was cancelled, failed, or was read only in part. Over HTTP/2, the
///   stream of the exchange is reset instead.
/// - ``RawResponse/head`` describes the delivered body: an executor that decodes a content coding removes
///   Content-Encoding and Content-Length and records both in the metrics.
/// - A streamed response owns its connection: reading it to the end returns the connection, and releasing it closes the
///   connection. Over HTTP/2, it owns its stream, and releasing it resets the stream.
///
/// The call runs on the executor of its caller until it first suspends; ``Client`` keeps it off the actor of the
/// caller.
public protocol RequestExecutor: Sendable {
    /// Sends `request` and returns the response.
    ///
    /// The request of a call permits the executor to deliver only a part of the body of a redirect that the call
    /// follows. ``RawResponse/request`` does not: keep that one to perform the request again later.
    ///
    /// - Throws: ``RequestError`` with the request and a reason that is the same for every executor.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse

    /// The properties of this executor that middleware around it depends on; empty by default.
    ///
    /// The value must not change, because middleware reads it once.
    var traits: ExecutorTraits { get }
}

extension RequestExecutor {
    /// The default implementation: no traits.
    public var traits: ExecutorTraits { [] }
}
