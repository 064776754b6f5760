import Requests

/// A transmission of a request that failed before the head of a response arrived.
///
/// Only this type decides whether a request is transmitted again (RFC 9112 §9.3.1):
///
/// | failure                                            | may the server have acted? | another transmission         |
/// |----------------------------------------------------|----------------------------|------------------------------|
/// | the peer declares that it has not acted (HTTP/2)   | no                         | of every request             |
/// | before a byte of the head was written (HTTP/2)     | no                         | of every request             |
/// | the connection ended after other requests (HTTP/2) | no                         | of every request, see below  |
/// | refused before the peer's settings were known      | no                         | of every request, see below  |
/// | the peer also requires HTTP/1.1                    | no                         | over HTTP/1.1, if offered    |
/// | before a byte was written to a reused connection   | no                         | of every request             |
/// | later, and before a byte of a response arrived     | perhaps                    | of a repeatable request only |
/// | on a new connection, or for another reason         | perhaps                    | never                        |
///
/// A request has at most three transmissions. Until the first-byte limit has passed since the call began, those that
/// the server has excluded do not count, up to 100 transmissions in all. A server excludes a request if it ends the
/// connection after it has acted on other requests; it excludes many if it allows more calls at once than a connection
/// carries. It also excludes a request that it refuses on a new connection, before the client knows how many streams it
/// allows. A body whose source has begun is sent again only if the source can begin again.
package struct LostTransmission: Sendable {
    /// The number of transmissions, this one included.
    let number: Int
    /// The number of earlier transmissions that the server has excluded.
    let earlierExclusions: Int
    /// Whether the first-byte limit has not passed since the call began.
    let isWithinFirstByte: Bool
    let error: RequestError
    /// Whether the connection had carried an exchange before.
    let isReused: Bool
    /// Whether a byte of a response has arrived.
    let hasBegunResponse: Bool
    /// Whether a byte of the request was written.
    let hasWritten: Bool
    /// The reason why an HTTP/2 stream has ended before its response; nil for another failure, and over HTTP/1.1.
    let refusal: StreamRefusal?
    /// Whether the server has selected no application protocol in the handshake of an https request.
    let hasNoProtocol: Bool
    /// Whether the server may have acted on an earlier transmission.
    let mayHaveActedBefore: Bool

    /// Whether the peer had closed the connection, as servers do with idle connections.
    package var isStale: Bool {
        isReused && error.reason == .connectionLost && !hasBegunResponse && refusal == nil
    }

    /// Whether the server may have acted on this transmission.
    private var mayHaveActedNow: Bool { hasWritten && (refusal == nil || refusal == .reset) }

    /// Whether the server may have acted on this transmission or on an earlier one.
    var mayHaveActed: Bool { mayHaveActedNow || mayHaveActedBefore }

    /// Returns whether `request` can be sent again: the server cannot have acted on it, or may act on it twice.
    package func allowsAnother(of request: PreparedRequest) -> Bool {
        switch refusal {
        case .excluded, .unprocessed, .requiresHTTP1: hasAttempts && error.reason == .connectionLost
        case .reset: false
        case nil: hasAttempts && isStale && (!hasWritten || (request.isIdempotent && request.body.isReplayable))
        }
    }

    /// Whether the request has had fewer transmissions than the maximum.
    private var hasAttempts: Bool { number < (isWithinFirstByte ? min(100, 3 + earlierExclusions) : 3) }

    /// The number of transmissions that the server has excluded, this one included.
    var exclusions: Int { earlierExclusions + (refusal == .excluded ? 1 : 0) }

    /// The error if the request is not sent again.
    var finalError: RequestError {
        let error = mayNeedHTTP2 ? error.adding(advice: Self.http2Advice) : error
        return mayHaveActedNow ? error : error.beforeSending()
    }

    /// Whether the server may support only HTTP/2, which its behavior in the handshake suggests.
    ///
    /// A server that supports only HTTP/2 selects no other protocol, and may close the connection without an alert.
    private var mayNeedHTTP2: Bool {
        hasNoProtocol && !isReused && error.reason == .connectionLost && !hasBegunResponse
    }

    private static let http2Advice =
        "the server has selected no application protocol; if it supports only HTTP/2, set httpVersion accordingly"

    /// Returns the error for the call if the next transmission failed with `next`, perhaps before it was sent.
    package func error(after next: RequestError) -> RequestError {
        guard mayHaveActed, !next.mayHaveReachedServer else { return next }
        return next.endsCall ? next.afterSending() : error
    }
}
