/// A decoded value with the response it came in.
public struct TypedResponse<Resource> {
    /// What the decoder made of the body.
    public let value: Resource

    /// Status, header and target of the last response.
    public let head: ResponseHead

    /// The fields after the body; empty for a streamed body, whose stream has them.
    public let trailers: Header

    /// What the last exchange took.
    public let metrics: RawResponse.Metrics

    /// The heads of the redirects that were followed, in order.
    public let history: [ResponseHead]

    @usableFromInline
    init(value: Resource, response: RawResponse, history: [ResponseHead]) {
        self.value = value
        head = response.head
        trailers = response.trailers
        metrics = response.metrics
        self.history = history
    }

    /// The status of the last response.
    public var status: HTTPStatus { head.status }

    /// The header of the last response.
    public var header: Header { head.header }

    /// The URL that was asked last.
    public var url: URL { head.url }
}

extension TypedResponse: Sendable where Resource: Sendable {}
