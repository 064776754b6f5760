extension RequestConvertible {
    /// This request as it will be sent; nothing is sent, and what is described stays as it is.
    ///
    /// The URL comes first, then the header, which the decoder's Accept, the body and last the authentication may
    /// change, in that order. Authentication cannot change Accept, Content-Type or the framing fields.
    ///
    /// - Throws: ``RequestError``: ``RequestError/Reason/invalidRequest(_:)`` for what cannot be sent,
    ///   ``RequestError/Reason/bodyNotEncoded`` with the body provider's error as its underlying one.
    public func prepared() throws(RequestError) -> PreparedRequest {
        let decoder = responseDecoder
        return try RequestParts(self).prepared(below: baseURL, accepting: decoder.accepting, decoder.delivery)
    }

    /// The target: the base URL, the path below it, the query of both.
    package func target() throws(RequestError) -> TargetURI {
        try RequestParts(self).target(below: baseURL)
    }
}

extension Request {
    /// This request as it will be sent; nothing is sent, and what is described stays as it is.
    ///
    /// The URL comes first, then the header, which the decoder's Accept, the body and last the authentication may
    /// change, in that order. Authentication cannot change Accept, Content-Type or the framing fields.
    ///
    /// - Throws: ``RequestError``: ``RequestError/Reason/invalidRequest(_:)`` for what cannot be sent,
    ///   ``RequestError/Reason/bodyNotEncoded`` with the body provider's error as its underlying one.
    @inlinable
    public func prepared() throws(RequestError) -> PreparedRequest {
        try parts.prepared(below: api.baseURL, accepting: responseDecoder.accepting, responseDecoder.delivery)
    }
}
