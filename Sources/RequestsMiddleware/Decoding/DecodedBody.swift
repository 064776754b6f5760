import Requests

/// A body that is decoded while it is read: it requests more bytes only once it has delivered all that it has decoded.
///
/// The encoded body is read to its end, so that its connection can be reused. If it is released early, fails or is
/// cancelled, the encoded body is released.
struct DecodedBody: PulledSource, ~Copyable {
    private var chain: DecodingChain
    private let stream: ResponseStream
    private let request: PreparedRequest
    private(set) var trailers: Header?

    init(_ chain: consuming DecodingChain, of stream: ResponseStream, to request: PreparedRequest) {
        self.chain = chain
        self.stream = stream
        self.request = request
    }

    var metrics: RawResponse.Metrics? { stream.metrics }

    mutating func next() async throws(RequestError) -> Data? {
        while true {
            switch try chain.step() {
            case .piece: return Data(chain.piece)
            case .yield:
                try request.checkTime()
                await Task.yield()
            case .needsMore:
                guard let bytes = try await stream.next() else {
                    try chain.finish()
                    trailers = stream.trailers
                    return nil
                }
                chain.put(bytes)
            }
        }
    }
}
