import Requests

/// A body that is decoded as it is pulled: nothing is asked for before all that is here has been handed over.
///
/// The coded body is read to its end, so that its connection can be used again; dropped, failed or cancelled, it is let go.
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

    mutating func next() async throws(RequestError) -> Data? {
        while true {
            switch try chain.step() {
            case .piece: return Data(chain.piece)
            case .tired:
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
