/// A body that is read while it arrives; dropped before its end, it ends the exchange and closes the connection.
final class StreamedBody: ResponseBodySource {
    private let exchange: SessionExchange

    init(_ exchange: SessionExchange) {
        self.exchange = exchange
    }

    deinit {
        exchange.cancel()
    }

    func next() async throws(RequestError) -> Data? {
        try await exchange.nextChunk()
    }

    /// URLSession gives none.
    var trailers: Header { .empty }
}
