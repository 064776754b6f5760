/// A response body that is read while it arrives.
///
/// Releasing it before its end ends the exchange and closes the connection.
final class SessionBodySource: ResponseBody.Source {
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

    /// Empty, because URLSession does not report trailers.
    var trailers: Header { .empty }
}
