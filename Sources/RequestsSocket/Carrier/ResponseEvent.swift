package import Requests

/// An event in the response of an exchange, in any version of HTTP.
package enum ResponseEvent: Sendable {
    /// More bytes must be received before the next event.
    case needMore
    /// The head of an interim response (1xx); the final response follows.
    case interim(HTTPStatus, Header)
    /// The head of the final response.
    case head(HTTPStatus, Header)
    /// Bytes of the body. They stay in the carrier until they are taken.
    case data
    /// The end of the response, with its trailer fields.
    case end(trailers: Header)
}
