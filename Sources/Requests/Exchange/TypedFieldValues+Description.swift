// A typed field value is described by the field's text, unless the value can contain secrets.

extension AuthenticationChallenge: CustomStringConvertible, CustomReflectable {
    /// The scheme and the names of the parameters, such as `Digest (realm, nonce, qop)`.
    ///
    /// The values of the parameters are not included, because the server may repeat a secret of the request in them;
    /// ``fieldValue`` contains them.
    public var description: String {
        let names = token68 == nil ? parameters.map(\.name) : ["token68"]
        let text = names.isEmpty ? scheme : "\(scheme) (\(names.joined(separator: ", ")))"
        return RequestError.shortened(RequestError.singleLine(text))
    }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["challenge": description]) }
}

extension CacheControl: CustomStringConvertible {
    /// The directives as a field value.
    public var description: String { fieldValue }
}

extension ContentDisposition: CustomStringConvertible {
    /// The disposition as a field value.
    public var description: String { fieldValue }
}

extension ContentRange: CustomStringConvertible {
    /// The range as a field value.
    public var description: String { fieldValue }
}

extension EntityTag: CustomStringConvertible {
    /// The tag as a field value.
    public var description: String { fieldValue }
}

extension EntityTag.Condition: CustomStringConvertible {
    /// The condition as a field value.
    public var description: String { fieldValue }
}

extension RetryAfter: CustomStringConvertible {
    /// The delay or the date as a field value.
    public var description: String { fieldValue }
}

extension WebLink: CustomStringConvertible, CustomReflectable {
    /// The link as a field value, with the secrets of its URL redacted.
    public var description: String { ExchangeRedaction(nil).value(of: Field(name: .link, value: fieldValue)) }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["link": description]) }
}
