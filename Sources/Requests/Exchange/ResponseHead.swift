/// The status, the header and the target of a response.
public struct ResponseHead: Hashable, Sendable {
    /// The status code.
    public var status: HTTPStatus

    /// The header, which describes the body as it is delivered.
    public var header: Header

    /// The target of the request that this is the response to: after redirects, of the last request.
    public var target: TargetURI

    /// Creates a head from its parts.
    public init(status: HTTPStatus, header: Header = .empty, target: TargetURI) {
        self.status = status
        self.header = header
        self.target = target
    }

    /// The URL of ``target``, without userinfo.
    public var url: URL { target.url }

    /// The media type of the body; nil if Content-Type is missing or malformed.
    public var contentType: MediaType? {
        header[.contentType].flatMap(MediaType.init)
    }
}

extension ResponseHead: CustomStringConvertible, CustomReflectable {
    /// The status, the URL and the header, with secrets redacted.
    ///
    /// Secrets in the target, and the values of cookies, are redacted wherever the header repeats them. The head does
    /// not know the fields of its request; an error, a log or a recording redacts their values too.
    public var description: String { "\(status) from \(redaction.url(target))\(lines.map { "\n\($0)" }.joined())" }

    /// The mirror that `dump` prints: the parts of the description.
    public var customMirror: Mirror {
        Mirror(self, children: ["status": "\(status)", "url": redaction.url(target), "header": lines])
    }

    private var redaction: ExchangeRedaction { ExchangeRedaction(PreparedRequest(target: target), response: self) }

    private var lines: [String] {
        let redaction = redaction
        return header.map { "\($0.name): \(redaction.value(of: $0))" }
    }
}
