/// A decoder that converts a response to a `Response`, and sets how the body is delivered.
///
/// Define new decoders as static members in an extension, so that a call reads `api.get(.yaml(), from: "/config")`.
public struct ResponseDecoder<Response>: Sendable {
    /// The media types that the decoder reads, in order of preference; empty for any.
    ///
    /// They are sent in the Accept field, and the standard validator checks the content type against them.
    public let acceptedTypes: [MediaType]

    /// The form in which the body is delivered.
    public let delivery: ResponseBody.Delivery

    enum Decoding: Sendable {
        /// Decodes a body in memory without suspending.
        case immediate(@Sendable (ResponseHead, Data) throws -> Response, limit: Int)
        /// Decodes JSON in memory with the decoder of the API, without suspending.
        case json(@Sendable (Data, () -> JSONDecoder) throws -> Response, limit: Int)
        /// Decodes a response with a body in any form, and may suspend; the function creates the decoder of the API.
        case suspending(@Sendable (RawResponse, @escaping MakeJSONDecoder) async throws -> Response)
    }

    typealias MakeJSONDecoder = @Sendable () -> JSONDecoder

    let decoding: Decoding

    /// Creates a decoder of a body that is collected in memory.
    ///
    /// - Parameters:
    ///   - accepting: The media types that the decoder reads, in order of preference; empty for any.
    ///   - limit: The maximum number of bytes to collect. A longer body fails with
    ///     ``RequestError/Reason/tooLarge(limit:)``.
    ///   - decode: The function that makes the response. Its errors become ``RequestError/Reason/decodingFailed``; a
    ///     `RequestError` is rethrown unchanged.
    public init(
        accepting: [MediaType] = [], limit: Int = ResponseBody.Delivery.defaultLimit,
        _ decode: @escaping @Sendable (ResponseHead, Data) throws -> Response
    ) {
        self.acceptedTypes = accepting
        delivery = .collected(limit: limit)
        decoding = .immediate(decode, limit: limit)
    }

    /// Creates a decoder of a body that is read as it arrives.
    ///
    /// The overload is disfavored, so that a closure without a label that ignores its second parameter receives the
    /// whole body.
    ///
    /// - Parameters:
    ///   - accepting: The media types that the decoder reads, in order of preference; empty for any.
    ///   - decode: The function that makes the response. It may keep the stream and read from it later.
    @_disfavoredOverload
    public init(
        accepting: [MediaType] = [],
        streaming decode: @escaping @Sendable (ResponseHead, ResponseStream) throws -> Response
    ) {
        self.init(accepting: accepting, delivery: .streamed) { response, _ in
            try decode(response.head, try response.body.streamed())
        }
    }

    /// Creates a decoder of JSON in memory that uses the API's JSON decoder.
    init(
        acceptingJSON types: [MediaType], limit: Int = ResponseBody.Delivery.defaultLimit,
        _ decode: @escaping @Sendable (Data, () -> JSONDecoder) throws -> Response
    ) {
        self.acceptedTypes = types
        delivery = .collected(limit: limit)
        decoding = .json(decode, limit: limit)
    }

    /// Creates a decoder of a response whose body is delivered as `delivery`.
    init(
        accepting: [MediaType] = [], delivery: ResponseBody.Delivery,
        decode: @escaping @Sendable (RawResponse, @escaping MakeJSONDecoder) async throws -> Response
    ) {
        self.acceptedTypes = accepting
        self.delivery = delivery
        decoding = .suspending(decode)
    }

    /// Returns this decoder with its work performed by `executor`, and with the JSON decoders that `makeDecoder`
    /// creates.
    package func running(
        on executor: any TaskExecutor, decodingJSONWith makeDecoder: @escaping @Sendable () -> JSONDecoder
    ) -> ResponseDecoder {
        ResponseDecoder(accepting: acceptedTypes, delivery: delivery) { response, _ in
            try await withTaskExecutorPreference(executor) {
                try await decodeOnPreferredExecutor(response, makeDecoder)
            }
        }
    }

    /// Decodes `response` on the task's preferred executor instead of the executor of the caller.
    @concurrent
    private func decodeOnPreferredExecutor(
        _ response: RawResponse, _ makeDecoder: @escaping MakeJSONDecoder
    ) async throws -> Response {
        // If this function only forwarded the call, the compiler would omit the switch of executors.
        try Task.checkCancellation()
        return try await value(from: response, makeDecoder)
    }

    /// Returns the value decoded from `response` with the JSON decoder of `request`; nothing is decoded for `Void`.
    func value<R: RequestConvertible>(from response: RawResponse, for request: R) async throws -> Response {
        if Response.self == Void.self, let nothing = () as? Response { return nothing }
        switch decoding {
        case .immediate(let decode, let limit):
            return try decode(response.head, try await response.body.collected(limit: limit))
        case .json(let decode, let limit):
            return try decode(try await response.body.collected(limit: limit), request.makeJSONDecoder)
        case .suspending(let decode): return try await decode(response) { request.makeJSONDecoder() }
        }
    }

    /// Returns the value decoded from `response`, with the JSON decoders that `makeDecoder` creates.
    func value(from response: RawResponse, _ makeDecoder: @escaping MakeJSONDecoder) async throws -> Response {
        if Response.self == Void.self, let nothing = () as? Response { return nothing }
        switch decoding {
        case .immediate(let decode, let limit):
            return try decode(response.head, try await response.body.collected(limit: limit))
        case .json(let decode, let limit):
            return try decode(try await response.body.collected(limit: limit), makeDecoder)
        case .suspending(let decode): return try await decode(response, makeDecoder)
        }
    }
}

extension ResponseBody {
    /// Returns the whole body in memory, whatever the delivery was.
    func collected(limit: Int) async throws(RequestError) -> Data {
        switch self {
        case .bytes(let data): return data
        case .stream(let stream): return try await stream.collect(limit: limit)
        case .file(let path):
            return try RequestError.wrapping(.fileAccessFailed) { try Data(contentsOf: URL(filePath: path)) }
        }
    }

    /// Returns the body as a stream, whatever the delivery was.
    func streamed() throws(RequestError) -> ResponseStream {
        switch self {
        case .stream(let stream): return stream
        case .bytes(let data): return ResponseStream(data)
        case .file(let path):
            return ResponseStream(
                try RequestError.wrapping(.fileAccessFailed) { try Data(contentsOf: URL(filePath: path)) })
        }
    }
}
