/// A decoded value and the response that contained it.
public struct TypedResponse<Resource> {
    /// The value decoded from the body.
    public let value: Resource

    /// The status, header and target of the last response.
    public let head: ResponseHead

    /// The trailer fields; empty for a streamed body, whose stream has them.
    public let trailers: Header

    /// The measurements of the last exchange.
    public let metrics: RawResponse.Metrics

    /// The heads of the redirects that were followed, in order.
    public let history: [ResponseHead]

    /// The method, the target and the header of the last request as it was sent; nil if nothing was sent, as for a
    /// cached response.
    public let request: PreparedRequest.Head?

    init(value: Resource, response: RawResponse, history: [ResponseHead]) {
        self.value = value
        head = response.head
        trailers = response.trailers
        metrics = response.metrics
        request = response.request.map(PreparedRequest.Head.init)
        self.history = history
    }

    /// The status of the last response.
    public var status: HTTPStatus { head.status }

    /// The header of the last response.
    public var header: Header { head.header }

    /// The URL of the last request.
    public var url: URL { head.url }
}

extension TypedResponse: Sendable where Resource: Sendable {}
