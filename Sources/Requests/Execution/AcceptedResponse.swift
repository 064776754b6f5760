/// The validated response of a call, before it is decoded.
///
/// Everything up to here is independent of the type that the caller decodes.
struct AcceptedResponse: Sendable {
    private(set) var response: RawResponse
    let call: CallState

    /// Creates the accepted response of `call`; ``CallState/rejection(of:)`` must have returned nil for it.
    init(_ response: consuming RawResponse, endOf call: consuming CallState) {
        // With this, an error while the stream is read names its request and response too.
        if case .stream(let stream) = response.body {
            stream.setContext(response, to: call.request, attempts: call.attempts)
        }
        self.response = response
        self.call = call
        if self.call.hasRetries { addRetries() }
    }

    private mutating func addRetries() {
        response.metrics.retries = call.retries + response.metrics.retries
    }

    /// The heads of the redirects that were followed, in order.
    var history: [ResponseHead] { call.history }

    /// Returns `error`, which was thrown while decoding `type`, with the response and its request.
    func failure(decoding type: Any.Type, _ error: any Error) -> RequestError {
        RequestError(wrapping: error, as: .decodingFailed).decoding(type)
            .adding(response, to: call.request, attempts: call.attempts)
    }
}

extension CallState {
    /// Returns the error that rejects `response`, with its body if that is in memory; nil if it is accepted.
    func rejection(of response: RawResponse) -> RequestError? {
        // Most responses need no validator: not copying and calling it saves 250 instructions.
        if request.accepts(response.head.status) { return nil }
        do throws(RequestError) {
            try request.validator.validate(
                response.head, accepting: request.acceptedTypes, isEmpty: response.body.isKnownEmpty)
            return nil
        } catch {
            return error.ofCondition(in: request, response.head).adding(response, to: request, attempts: attempts)
                .adding(retries: retries + response.metrics.retries)
        }
    }
}

extension AcceptedResponse {
    func value<R: RequestConvertible>(
        by decoder: ResponseDecoder<R.Resource>, for request: R
    ) async throws(RequestError) -> R.Resource {
        do {
            return try await decoder.value(from: response, for: request)
        } catch {
            throw failure(decoding: R.Resource.self, error)
        }
    }

    /// Returns the decoded value.
    ///
    /// If decoding fails and `executor` has retries, the exchange is repeated and the new response is decoded.
    mutating func value<R: RequestConvertible>(
        by decoder: ResponseDecoder<R.Resource>, for request: R, repeatedBy executor: any RequestExecutor
    ) async throws(RequestError) -> R.Resource {
        while true {
            do throws(RequestError) {
                return try await value(by: decoder, for: request)
            } catch {
                self = try await repeated(after: error, by: executor)
            }
        }
    }

    /// Returns the decoded value, for callers that no longer have the request, only its function that creates decoders.
    func value<Resource>(
        by decoder: ResponseDecoder<Resource>, decodingJSONWith makeDecoder: @escaping @Sendable () -> JSONDecoder
    ) async throws(RequestError) -> Resource {
        do {
            return try await decoder.value(from: response, makeDecoder)
        } catch {
            throw failure(decoding: Resource.self, error)
        }
    }

    func typed<Resource>(_ value: Resource) -> TypedResponse<Resource> {
        TypedResponse(value: value, response: response, history: history)
    }
}

extension RequestError {
    /// Returns this error, with the reason ``Reason/notModified`` if `response` is a 304 to a condition in `request`
    /// (RFC 9110 §15.4.5).
    fileprivate func ofCondition(in request: PreparedRequest, _ response: ResponseHead) -> RequestError {
        guard reason == .unexpectedRedirect, response.status == 304,
            request.header.contains(.ifNoneMatch) || request.header.contains(.ifModifiedSince)
        else { return self }
        return RequestError(.notModified, detail: detail, underlying: underlying)
    }
}

extension ResponseBody {
    fileprivate var isKnownEmpty: Bool {
        switch self {
        case .bytes(let data): data.isEmpty
        case .stream(let stream): stream.length == 0
        case .file: false
        }
    }
}
