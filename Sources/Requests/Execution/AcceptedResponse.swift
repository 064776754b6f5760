/// The response that a call ends with: validated, and not decoded yet.
///
/// All of a call that depends on no type of the user's ends here. What follows is compiled in the module that makes the
/// call, where the type is known.
@usableFromInline
struct AcceptedResponse: Sendable {
    @usableFromInline let response: RawResponse
    private let perform: Perform

    /// The `response` that `perform` ends with, validated.
    ///
    /// - Throws: ``RequestError`` with why it is refused, and the body as far as it is in memory.
    init(_ response: RawResponse, endOf perform: Perform) throws(RequestError) {
        do {
            let request = perform.request
            try request.validator.validate(
                response.head, accepting: request.accepting, isEmpty: response.isKnownEmpty)
        } catch {
            throw error.adding(
                request: perform.request, response: response.head, body: response.collectedBody,
                attempts: perform.attempts)
        }
        self.response = response
        self.perform = perform
    }

    /// The heads of the redirects that were followed, in order.
    @usableFromInline var history: [ResponseHead] { perform.history }

    /// The error of a response that could not be decoded because of `error`.
    @usableFromInline
    func failure(decoding error: any Error) -> RequestError {
        RequestError(wrapping: error, as: .notDecoded).adding(
            request: perform.request, response: response.head, body: response.collectedBody,
            attempts: perform.attempts)
    }
}

extension AcceptedResponse {
    /// What `decoder` makes of it.
    @inlinable
    func value<Resource>(by decoder: ResponseDecoder<Resource>) async throws(RequestError) -> Resource {
        do {
            return try await decoder.value(from: response)
        } catch {
            throw failure(decoding: error)
        }
    }

    /// What `decoder` makes of it on a thread that may be blocked: without a task, where it need not suspend.
    @inlinable
    func valueInPlace<Resource>(by decoder: ResponseDecoder<Resource>) throws(RequestError) -> Resource {
        do {
            if let value = try decoder.immediateValue(from: response) { return value }
        } catch {
            throw failure(decoding: error)
        }
        return try valueInTask(by: decoder)
    }

    @usableFromInline
    func valueInTask<Resource>(by decoder: ResponseDecoder<Resource>) throws(RequestError) -> Resource {
        try perform.request.inTask(perform.request.timeLeft) { () async throws(RequestError) in
            try await value(by: decoder)
        }
    }

    /// `value` with what surrounds it.
    @inlinable
    func typed<Resource>(_ value: Resource) -> TypedResponse<Resource> {
        TypedResponse(value: value, response: response, history: history)
    }
}

extension RawResponse {
    /// Whether the body is known to have no bytes.
    fileprivate var isKnownEmpty: Bool {
        switch body {
        case .bytes(let data): data.isEmpty
        case .stream(let stream): stream.length == 0
        case .file: false
        }
    }
}
