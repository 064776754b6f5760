import Requests

/// A transmission of a request that failed before the head of a response arrived.
///
/// Only this type decides whether a request is transmitted again (RFC 9112 §9.3.1).
struct LostTransmission {
    let error: RequestError
    /// Whether the connection had carried an exchange before.
    let isReused: Bool
    /// Whether a byte of a response has arrived.
    let hasBegunResponse: Bool
    /// Whether a byte of the request was written.
    let hasWritten: Bool

    /// Whether the peer had closed the connection, as servers do with idle ones.
    var isStale: Bool { isReused && error.reason == .connectionLost && !hasBegunResponse }

    /// Whether `request` can be sent again: the server cannot have acted on it, or may act on it twice.
    func allowsAnother(of request: PreparedRequest) -> Bool {
        isStale && (!hasWritten || (request.isIdempotent && request.body.isReplayable))
    }

    /// The error if the request is not sent again.
    var finalError: RequestError { hasWritten ? error : error.beforeSending() }

    /// Returns the error if the second transmission failed with `second`: that one sent nothing, and the first may
    /// have.
    func error(after second: RequestError) -> RequestError {
        hasWritten && !second.mayHaveReachedServer ? error : second
    }
}
