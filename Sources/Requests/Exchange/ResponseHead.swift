/// The status, the header and the target of a response.
public struct ResponseHead: Hashable, Sendable {
    /// The status code.
    public var status: HTTPStatus

    /// The header, which describes the body as it is delivered.
    public var header: Header

    /// The target of the request for this response; after redirects, that of the last request.
    public var target: TargetURI

    /// Creates a head from its parts.
    public init(status: HTTPStatus, header: Header = .empty, target: TargetURI) {
        self.status = status
        self.header = header
        self.target = target
    }

    /// The URL of the target, without userinfo; after redirects, that of the last request.
    public var url: URL { target.url }

    /// The media type of the body; nil if Content-Type is missing or malformed.
    public var contentType: MediaType? {
        header[.contentType].flatMap(MediaType.init)
    }
}
