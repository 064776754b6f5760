/// A body that is decoded into memory.
struct DecodedCollection: ~Copyable, Sendable {
    private var chain: DecodingChain
    private var decoded: RawResponse
    private let request: PreparedRequest
    private let limit: Int
    private var body = Data()

    /// Undoes the codings of `response`, whose bytes are put in; more than the request's delivery allows are an error.
    init(_ chain: consuming DecodingChain, of response: RawResponse, to request: PreparedRequest) {
        self.chain = chain
        self.request = request
        decoded = response.withoutCodings(ofLength: nil)
        if case .collected(let limit) = request.delivery { self.limit = max(0, limit) } else { limit = .max }
    }

    /// Gives it the next bytes, when it has asked for them.
    mutating func put(_ bytes: Data) {
        chain.put(bytes)
    }

    /// Goes on decoding: why it cannot, which is never that there is a piece.
    ///
    /// - Throws: `RequestError` with what has been decoded as evidence.
    mutating func advance() throws(RequestError) -> DecodingChain.Step {
        do throws(RequestError) {
            while true {
                let step = try chain.step()
                guard case .piece = step else {
                    guard chain.encodedCount <= encodedLimit else {
                        throw tooLarge("more than \(encodedLimit) bytes as it is sent")
                    }
                    return step
                }
                let piece = chain.piece
                guard piece.count <= limit - body.count else { throw tooLarge("decoded") }
                body.append(contentsOf: piece)
            }
        } catch {
            throw complete(error)
        }
    }

    /// The response with what has been decoded.
    ///
    /// - Throws: `RequestError` when the body ended before its coding did.
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
    /// Decodes what `stream` gives, to its end.
    consuming func collect(_ stream: ResponseStream) async throws(RequestError) -> RawResponse {
        if let length = stream.length, length > encodedLimit {
            throw complete(tooLarge("\(length) bytes announced"))
        }
        while true {
            switch try advance() {
            case .tired:
                try request.checkTime()
                await Task.yield()
            case .needsMore, .piece:
                guard let bytes = try await next(of: stream) else {
                    // A body in memory has its trailers with it.
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
