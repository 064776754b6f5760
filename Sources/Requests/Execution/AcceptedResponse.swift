/// The validated response of a call, before it is decoded.
///
/// It is the last value of a call that does not depend on a type of the caller. The following steps are compiled in the
/// module of the caller, where that type is known (decision 0009).
@usableFromInline
struct AcceptedResponse: Sendable {
    @usableFromInline private(set) var response: RawResponse
    let call: CallState

    /// Creates the accepted response of `call` after validating `response`.
    ///
    /// - Throws: ``RequestError`` with the reason why the response is rejected, and its body if that is in memory.
    @inline(__always)  // otherwise the response is moved to the initializer, and then to its place
    init(_ response: consuming RawResponse, endOf call: consuming CallState) throws(RequestError) {
        // The validator is called only if it may reject the response, which saves 250 instructions for most responses.
        if !call.request.accepts(response.head.status) {
            do {
                let request = call.request
                try request.validator.validate(
                    response.head, accepting: request.acceptedTypes, isEmpty: response.body.isKnownEmpty)
            } catch {
                throw call.failure(error, rejecting: response)
            }
        }
        // An error while the stream is read then has the request and the response too.
        if case .stream(let stream) = response.body {
            stream.setContext(response, to: call.request, attempts: call.attempts)
        }
        self.response = response
        self.call = call
        if self.call.hasRetries { addRetries() }
    }

    @inline(never)  // keeps code that few responses need out of the initializer
    private mutating func addRetries() {
        response.metrics.retries = call.retries + response.metrics.retries
    }

    /// The heads of the redirects that were followed, in order.
    @usableFromInline var history: [ResponseHead] { call.history }

    /// Returns the error of a response that could not be decoded as `type` because of `error`.
    @usableFromInline
    func failure(decoding type: Any.Type, _ error: any Error) -> RequestError {
        RequestError(wrapping: error, as: .decodingFailed).decoding(type)
            .adding(response, to: call.request, attempts: call.attempts)
    }
}

extension CallState {
    /// Returns the error of the last response of the call, which the validator rejected with `error`.
    @inline(never)
    fileprivate func failure(_ error: RequestError, rejecting response: RawResponse) -> RequestError {
        error.ofCondition(in: request, response.head).adding(response, to: request, attempts: attempts)
            .adding(retries: retries + response.metrics.retries)
    }
}

extension AcceptedResponse {
    /// Returns the value that `decoder` decodes from the response to `request`.
    @inlinable
    func value<R: RequestConvertible>(
        by decoder: ResponseDecoder<R.Resource>, for request: R
    ) async throws(RequestError) -> R.Resource {
        do {
            return try await decoder.value(from: response, for: request)
        } catch {
            throw failure(decoding: R.Resource.self, error)
        }
    }

    /// Returns the value that `decoder` decodes from the response to `request`, or from a later one, if `executor`
    /// repeats the exchange after an error of the decoder.
    @inlinable
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

    /// Returns the value that `decoder` decodes, with the JSON decoders that `makeDecoder` creates.
    func value<Resource>(
        by decoder: ResponseDecoder<Resource>, decodingJSONWith makeDecoder: @escaping @Sendable () -> JSONDecoder
    ) async throws(RequestError) -> Resource {
        do {
            return try await decoder.value(from: response, makeDecoder)
        } catch {
            throw failure(decoding: Resource.self, error)
        }
    }

    /// Returns `value` with the response that contained it.
    @inlinable
    func typed<Resource>(_ value: Resource) -> TypedResponse<Resource> {
        TypedResponse(value: value, response: response, history: history)
    }
}

extension RequestError {
    /// Returns this error, with the reason ``Reason/notModified`` if the rejected response is a 304 to a condition of
    /// `request` (RFC 9110 §15.4.5).
    fileprivate func ofCondition(in request: PreparedRequest, _ response: ResponseHead) -> RequestError {
        guard reason == .unexpectedRedirect, response.status == 304,
            request.header.contains(.ifNoneMatch) || request.header.contains(.ifModifiedSince)
        else { return self }
        return RequestError(.notModified, detail: detail, underlying: underlying)
    }
}

extension ResponseBody {
    /// Whether the body is known to be empty.
    fileprivate var isKnownEmpty: Bool {
        switch self {
        case .bytes(let data): data.isEmpty
        case .stream(let stream): stream.length == 0
        case .file: false
        }
    }
}
