import Requests
import RequestsPOSIX

/// A body that is read from its connection on demand: bytes are received only when the next piece is requested.
///
/// After its end, the connection, or the place on an HTTP/2 connection, returns to the pool. If the body fails, is
/// cancelled or is released earlier, the connection is closed; over HTTP/2, only the stream is reset.
struct SocketBodySource<C: PooledCarrier>: PulledSource, ~Copyable {
    private var exchange: UniqueBox<SocketExchange<C>>

    init(_ exchange: consuming UniqueBox<SocketExchange<C>>) {
        self.exchange = exchange
    }

    /// Returns the bytes of one receive; nil at the end.
    mutating func next() async throws(RequestError) -> Data? {
        try exchange.value.beginPiece()
        try await exchange.value.run()
        return exchange.value.exchange.takePiece()
    }

    var metrics: RawResponse.Metrics? { exchange.value.exchange.measurements }

    var trailers: Header? { exchange.value.exchange.trailers }
}

extension UniqueBox where Value: ~Copyable {
    /// Returns the response of an exchange that has nothing more to do; a streamed body keeps the exchange.
    consuming func response<C>() -> RawResponse where Value == SocketExchange<C> {
        var box = self
        guard box.value.exchange.isStreaming else { return box.value.exchange.takeResponse() }
        var response = box.value.exchange.response()
        let length = box.value.exchange.transfer.bodyLength
        let (head, request) = (response.head, box.value.exchange.outgoing.request)
        response.body = .stream(ResponseStream(length: length, PulledBody(SocketBodySource(box), request, head)))
        return response
    }
}
