/// A refusal by middleware that a server with this middleware reports to its own clients.
///
/// It is the underlying error of a ``RequestError``.
package protocol ServedRefusal: Error {
    /// The status for the response (RFC 9110 §15, RFC 6585 §4).
    var servedStatus: HTTPStatus { get }

    /// The time after which a repetition can succeed, sent as Retry-After (RFC 9110 §10.2.3); nil if it is unknown.
    var retryDelay: Duration? { get }
}
