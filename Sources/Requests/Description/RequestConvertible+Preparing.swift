extension RequestConvertible {
    /// Returns the request as it will be sent, without sending it or changing this description.
    ///
    /// The URL is built first, then the header, which the Accept field of the decoder, the body and the authentication
    /// change in that order. Authentication cannot change Accept, Content-Type or the framing fields.
    ///
    /// - Throws: ``RequestError``: ``RequestError/Reason/invalidRequest(_:)`` for a request that cannot be sent, or
    ///   ``RequestError/Reason/bodyEncodingFailed`` with the error of the body provider as ``RequestError/underlying``.
    public func prepared() throws(RequestError) -> PreparedRequest {
        let decoder = responseDecoder
        return try RequestParts(self).prepared(
            below: baseURL, isTemplate: EndpointPath.self == RequestPath.self, accepting: decoder.acceptedTypes,
            decoder.delivery, encodingJSONWith: makeJSONEncoder)
    }

    /// Returns the target: the base URL followed by the path, with the query of both.
    package func target() throws(RequestError) -> TargetURI {
        try RequestParts(self).target(below: baseURL)
    }
}

extension Request {
    /// Returns the request as it will be sent, without sending it or changing this description.
    ///
    /// The URL is built first, then the header, which the Accept field of the decoder, the body and the authentication
    /// change in that order. Authentication cannot change Accept, Content-Type or the framing fields.
    ///
    /// - Throws: ``RequestError``: ``RequestError/Reason/invalidRequest(_:)`` for a request that cannot be sent, or
    ///   ``RequestError/Reason/bodyEncodingFailed`` with the error of the body provider as ``RequestError/underlying``.
    public func prepared() throws(RequestError) -> PreparedRequest {
        try parts.prepared(
            below: api.baseURL, of: api, accepting: responseDecoder.acceptedTypes, responseDecoder.delivery,
            encodingJSONWith: { api.makeJSONEncoder() })
    }

    /// Returns the encoder of the API.
    public func makeJSONEncoder() -> JSONEncoder { api.makeJSONEncoder() }

    /// Returns the decoder of the API.
    public func makeJSONDecoder() -> JSONDecoder { api.makeJSONDecoder() }
}
