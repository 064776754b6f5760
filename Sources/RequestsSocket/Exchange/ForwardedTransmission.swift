import Requests

/// One transmission of a request that a proxy with an authenticator forwards.
///
/// The credentials are not part of the request: errors contain the request of the caller, and the credentials are sent
/// even if the call has left its origin (decision 0020). The type is a class, so that the many requests without a
/// transmission of this kind carry only nil.
final class ForwardedTransmission: Sendable {
    /// The Proxy-Authorization field; nil before the first challenge.
    let authorization: Field?
    /// Whether the request was sent before, and so continues a running call.
    let isRepetition: Bool

    init(authorization: Field?, isRepetition: Bool) {
        self.authorization = authorization
        self.isRepetition = isRepetition
    }
}
