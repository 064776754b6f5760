extension Request {
    /// Returns this request with `Payload` as the type of its error bodies, for ``RequestError/payload(as:)``.
    ///
    /// ```swift
    /// request.decodingErrorPayload(as: GitHubProblem.self)
    /// // later
    /// catch { if let problem = error.payload(as: GitHubProblem.self) { … } }
    /// ```
    ///
    /// To declare the type for a whole API, use ``RequestProviding/request(to:using:)-(RequestPath,_)``. Without
    /// `makeDecoder`, the API's decoder is used.
    public consuming func decodingErrorPayload<Payload: Decodable & Sendable>(
        as type: Payload.Type, using makeDecoder: (@Sendable () -> JSONDecoder)? = nil
    ) -> Self {
        let api = api
        return decodingErrorPayload { _, data in
            try (makeDecoder?() ?? api.makeJSONDecoder()).value(Payload.self, from: data)
        }
    }

    /// Returns this request with a function that decodes its error bodies for ``RequestError/payload(as:)``.
    public consuming func decodingErrorPayload<Payload: Sendable>(
        with decode: @escaping @Sendable (ResponseHead, Data) throws -> Payload
    ) -> Self {
        attributes[ErrorPayloadDecoding.self] = decode
        return self
    }

    /// Returns this request with its error bodies decoded as JSON, whatever their content type.
    public consuming func assumingErrorsAreJSON() -> Self {
        attributes[AssumesJSONErrors.self] = true
        return self
    }
}
