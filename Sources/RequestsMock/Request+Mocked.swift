import Requests

extension Request {
    /// Returns this request with its own result, which a ``MockExecutor`` uses instead of any stub.
    ///
    /// Any other executor sends the request. With ``MockExecutor/Unmatched/passingThrough(to:)``, a mock sends only the
    /// requests without their own result.
    ///
    /// - Parameter result: The result. Of a sequence, each call uses the first element.
    /// - Returns: The request.
    public consuming func mocked(_ result: MockResult<Resource>) -> Request {
        attributes[RequestMock.self] = result.script
        return self
    }
}

extension Request where Resource: Sendable {
    /// Returns this request with `value` as the result of its call over a ``MockExecutor``.
    ///
    /// The response has the status 200. Neither its content type is checked nor its body decoded. An earlier result of
    /// the request is replaced. Any other executor sends the request, and the call returns `value` nevertheless.
    ///
    /// - Parameters:
    ///   - value: The value that the call returns.
    ///   - header: The header of the response; for a decoder of JSON, a missing Content-Type is `application/json`.
    ///   - delay: The delay before the response.
    /// - Returns: The request.
    public consuming func mocked(
        with value: Resource, header: Header = .empty, delay: Duration = .zero
    ) -> Request {
        var response = MockResponse(status: 200, header: header, delay: .lasting(delay))
        let types = responseDecoder.acceptedTypes
        if !header.contains(.contentType), types.contains(where: { MediaType.json.reads($0) }) {
            response.header.set(.contentType(.json))
        }
        responseDecoder = ResponseDecoder(accepting: types) { _, _ in value }
        validator = .none
        attributes[RequestMock.self] = .response(response)
        return self
    }
}

/// The key of a request's own result.
private enum RequestMock: RequestAttributes.Key {
    typealias Value = ResultScript
}

extension PreparedRequest {
    /// The result of the request itself; nil if it has none.
    var mockedScript: ResultScript? { hasOwnAttributes ? attributes[RequestMock.self] : nil }
}
