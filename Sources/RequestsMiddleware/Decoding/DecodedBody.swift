import Requests

/// A body that is decoded while it is read; more bytes are requested only when all decoded ones have been delivered.
///
/// The encoded body is read to its end, so that its connection can be reused. If it is released early, fails or is
/// cancelled, the encoded body is released.
struct DecodedBody: PulledSource, ~Copyable {
    private var chain: DecodingChain
    private let stream: ResponseStream
    private let request: PreparedRequest
    /// The maximum number of decoded bytes that are collected; nil for a stream.
    private let limit: Int?
    private(set) var trailers: Header?

    init(
        _ chain: consuming DecodingChain, of stream: ResponseStream, to request: PreparedRequest,
        collecting limit: Int? = nil
    ) {
        self.chain = chain
        self.stream = stream
        self.request = request
        self.limit = limit
    }

    var metrics: RawResponse.Metrics? { stream.metrics }

    /// The number of encoded bytes that have been decoded.
    var encodedCount: Int { chain.encodedCount }

    mutating func next() async throws(RequestError) -> Data? {
        while true {
            let step = try chain.step()
            if case .piece = step { return Data(chain.piece) }
            if let limit { try checkEncodedSize(collecting: limit) }
            if case .yield = step {
                try request.checkTime()
                await Task.yield()
                continue
            }
            guard let bytes = try await stream.next() else {
                try chain.finish()
                trailers = stream.trailers
                return nil
            }
            chain.put(bytes)
        }
    }

    /// Throws if too many encoded bytes have been decoded: endless data can decode to nothing.
    private func checkEncodedSize(collecting limit: Int) throws(RequestError) {
        let size = ContentDecoding.Limits.encodedSize(collecting: limit)
        guard chain.encodedCount <= size else {
            throw RequestError(
                .tooLarge(limit: limit), detail: "the body before decoding is longer than \(ErrorText.bytes(size))")
        }
    }
}
