/// A body that is decoded into memory.
struct DecodedCollection: ~Copyable, Sendable {
    private var chain: DecodingChain
    private var decoded: RawResponse
    private let request: PreparedRequest
    private let limit: Int
    private var body = Data()

    /// Creates a collection for the decoded body of `response`, whose encoded bytes are added with ``put(_:)``.
    ///
    /// A body of more bytes than the request's delivery allows is an error.
    init(_ chain: consuming DecodingChain, of response: RawResponse, to request: PreparedRequest) {
        self.chain = chain
        self.request = request
        decoded = response.withoutCodings(ofLength: nil)
        if case .collected(let limit) = request.delivery { self.limit = max(0, limit) } else { limit = .max }
    }

    /// Adds the next encoded bytes.
    ///
    /// Call it only when ``advance()`` has returned `needsMore`.
    mutating func put(_ bytes: Data) {
        chain.put(bytes)
    }

    /// Decodes until more bytes are needed or other tasks should run; never returns `piece`.
    ///
    /// - Throws: `RequestError` with the decoded bytes as evidence.
    mutating func advance() throws(RequestError) -> DecodingChain.Outcome {
        do throws(RequestError) {
            while true {
                let step = try chain.step()
                guard case .piece = step else {
                    guard chain.encodedCount <= encodedLimit else {
                        throw tooLarge("the body before decoding is longer than \(ErrorText.bytes(encodedLimit))")
                    }
                    return step
                }
                let piece = chain.piece
                guard piece.count <= limit - body.count else {
                    throw tooLarge("the decoded body is longer than \(ErrorText.bytes(limit))")
                }
                body.append(contentsOf: piece)
            }
        } catch {
            throw complete(error)
        }
    }

    /// Returns the response with the decoded body.
    ///
    /// - Throws: `RequestError` if the body ended before the end of its coding.
    consuming func finish() throws(RequestError) -> RawResponse {
        do throws(RequestError) {
            try chain.finish()
        } catch {
            throw complete(error)
        }
        var response = decoded
        response.metrics.encodedBodyLength = chain.encodedCount
        response.body = .bytes(body)
        return response
    }

    private var encodedLimit: Int { ContentDecoding.Limits.encodedSize(collecting: limit) }

    private func tooLarge(_ detail: String) -> RequestError {
        RequestError(.tooLarge(limit: limit), detail: detail)
    }

    private func complete(_ error: RequestError) -> RequestError {
        error.adding(request: request, response: decoded.head, body: body)
    }
}

extension DecodedCollection {
    /// Decodes `stream` to its end and returns the response.
    consuming func collect(_ stream: ResponseStream) async throws(RequestError) -> RawResponse {
        if let length = stream.length, length > encodedLimit {
            throw complete(tooLarge("Content-Length is \(ErrorText.bytes(length))"))
        }
        while true {
            switch try advance() {
            case .yield:
                try request.checkTime()
                await Task.yield()
            case .needsMore, .piece:
                guard let bytes = try await next(of: stream) else {
                    // The trailers of a body in memory are already in the response.
                    if case .stream = decoded.body { decoded.trailers = stream.trailers }
                    return try finish()
                }
                put(bytes)
            }
        }
    }

    private func next(of stream: ResponseStream) async throws(RequestError) -> Data? {
        do throws(RequestError) {
            return try await stream.next()
        } catch {
            throw complete(error)
        }
    }
}
