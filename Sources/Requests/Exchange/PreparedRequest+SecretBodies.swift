/// The key for the secrets in the bodies of an exchange, such as the password in a form.
///
/// No description, dump, wire text or curl command contains the bodies of such an exchange, because the response can
/// contain new secrets, such as tokens. The secrets in the body of the request are redacted in every other text too.
package enum SecretBodies: RequestAttributes.Key {
    package typealias Value = [String]
}

extension PreparedRequest {
    /// Whether the bodies of the exchange are hidden.
    package var hasSecretBodies: Bool { secretsOfBodies != nil }

    /// The secrets in the request body; nil if the bodies of the exchange may be printed.
    var secretsOfBodies: [String]? { hasAttributes ? attributes[SecretBodies.self] : nil }
}
