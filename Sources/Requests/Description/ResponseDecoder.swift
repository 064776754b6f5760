/// Makes a `Response` of what the server answered, and decides in which form the body is delivered.
///
/// New decoders are static members in an extension, so that call sites read `api.get(.yaml(), from: "/config")`.
public struct ResponseDecoder<Response>: Sendable {
    /// The media types the decoder reads, in order of preference; empty for any.
    ///
    /// They become the Accept field and what the standard validator accepts.
    public let accepting: [MediaType]

    /// In which form the body is delivered.
    public let delivery: Delivery

    @usableFromInline
    enum Decoding: Sendable {
        /// Of a body in memory, without suspending.
        case immediate(@Sendable (ResponseHead, Data) throws -> Response, limit: Int)
        case suspending(@Sendable (RawResponse) async throws -> Response)
    }

    @usableFromInline let decoding: Decoding

    /// A decoder of the whole body, which is collected in memory.
    ///
    /// - Parameters:
    ///   - accepting: The media types it reads, in order of preference; empty for any.
    ///   - limit: How many bytes are collected at most; a longer body is ``RequestError/Reason/tooLarge(limit:)``.
    ///   - decode: Makes the response. What it throws becomes ``RequestError/Reason/notDecoded``, a `RequestError` is
    ///     handed on.
    @inlinable
    public init(
        accepting: [MediaType] = [], limit: Int = Delivery.defaultLimit,
        _ decode: @escaping @Sendable (ResponseHead, Data) throws -> Response
    ) {
        self.accepting = accepting
        delivery = .collected(limit: limit)
        decoding = .immediate(decode, limit: limit)
    }

    /// A decoder of the body as it arrives.
    ///
    /// Disfavoured, so that a closure without a label that ignores its second parameter is given the whole body.
    ///
    /// - Parameters:
    ///   - accepting: The media types it reads, in order of preference; empty for any.
    ///   - decode: Makes the response, which may keep the stream and pull from it later.
    @_disfavoredOverload
    public init(
        accepting: [MediaType] = [],
        streaming decode: @escaping @Sendable (ResponseHead, ResponseStream) throws -> Response
    ) {
        self.init(accepting: accepting, delivery: .streamed) { response in
            try decode(response.head, try response.body.streamed())
        }
    }

    /// A decoder of a whole response whose body comes in the form of `delivery`.
    init(
        accepting: [MediaType] = [], delivery: Delivery,
        decode: @escaping @Sendable (RawResponse) async throws -> Response
    ) {
        self.accepting = accepting
        self.delivery = delivery
        decoding = .suspending(decode)
    }

    /// This decoder, its work done by `executor`.
    package func running(on executor: any TaskExecutor) -> ResponseDecoder {
        ResponseDecoder(accepting: accepting, delivery: delivery) { response in
            try await withTaskExecutorPreference(executor) { try await decodeThere(response) }
        }
    }

    /// Decodes where the task prefers to, rather than where its caller runs.
    @concurrent
    private func decodeThere(_ response: RawResponse) async throws -> Response {
        // Without a step of its own here, the compiler leaves the change of place out.
        try Task.checkCancellation()
        return try await value(from: response)
    }

    /// What the decoder makes of `response`; a `Void` needs no decoding.
    @inlinable
    func value(from response: RawResponse) async throws -> Response {
        if Response.self == Void.self, let nothing = () as? Response { return nothing }
        switch decoding {
        case .immediate(let decode, let limit):
            return try decode(response.head, try await response.body.collected(limit: limit))
        case .suspending(let decode): return try await decode(response)
        }
    }

    /// The same without suspending; nil when that may be necessary.
    @inlinable
    func immediateValue(from response: RawResponse) throws -> Response? {
        guard case .immediate(let decode, _) = decoding, case .bytes(let body) = response.body else { return nil }
        if Response.self == Void.self, let nothing = () as? Response { return nothing }
        return try decode(response.head, body)
    }
}

extension ResponseBody {
    /// The whole body, whatever form it came in.
    @usableFromInline
    func collected(limit: Int) async throws(RequestError) -> Data {
        switch self {
        case .bytes(let data): return data
        case .stream(let stream): return try await stream.collect(limit: limit)
        case .file(let path):
            return try RequestError.wrapping(.other) { try Data(contentsOf: URL(filePath: path)) }
        }
    }

    /// The body as a stream, whatever form it came in.
    func streamed() throws(RequestError) -> ResponseStream {
        switch self {
        case .stream(let stream): return stream
        case .bytes(let data): return ResponseStream(data)
        case .file(let path):
            return ResponseStream(try RequestError.wrapping(.other) { try Data(contentsOf: URL(filePath: path)) })
        }
    }
}
