/// Everything of a response but its body.
public struct ResponseHead: Hashable, Sendable {
    /// The status code.
    public var status: HTTPStatus

    /// The header, describing the body as it is delivered.
    public var header: Header

    /// What the request was for when this response came: after redirects the last target.
    public var target: TargetURI

    /// A head of `status`, `header` and the target that was asked.
    public init(status: HTTPStatus, header: Header = .empty, target: TargetURI) {
        self.status = status
        self.header = header
        self.target = target
    }

    /// The URL that was asked: after redirects the last one.
    public var url: URL { target.url }

    /// The media type of the body, or nil when Content-Type is missing or malformed.
    public var contentType: MediaType? {
        header[.contentType].flatMap(MediaType.init)
    }
}
