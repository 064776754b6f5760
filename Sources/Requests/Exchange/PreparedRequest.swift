/// A request as it will be sent: everything decided, nothing performed.
///
/// It is what `Client.prepared(_:)` gives a construction test, what middleware changes and what executors perform.
public struct PreparedRequest: Sendable {
    /// The method.
    public var method: HTTPMethod

    /// What the request is for.
    public var target: TargetURI

    /// The fields to send, without those that belong to the executor: Host, Content-Length, Transfer-Encoding and
    /// Connection.
    public var header: Header

    /// The body.
    public var body: RequestBody

    /// How the response's body is to be handed over.
    public var delivery: Delivery

    /// How long the stages may wait.
    public var timeouts: Timeouts

    /// When the whole call must have ended; set once, from ``Timeouts/total``, when the call begins.
    public var deadline: ContinuousClock.Instant?

    /// Which redirects are followed.
    public var redirects: RedirectPolicy

    /// What makes a response acceptable.
    public var validator: Validator

    /// The media types the decoder reads; empty for any.
    public var accepting: [MediaType]

    /// Whether a cache may answer.
    public var cachePolicy: RequestCachePolicy

    /// The path with `{}` in the place of interpolated values, such as `/users/{}`: for metrics, mocks and logs.
    public var template: String

    /// Values for middleware and executors, by typed key.
    public var attributes: RequestAttributes

    /// The target that answered with the redirect this request follows; nil for the first request of a call.
    public var redirectedFrom: TargetURI?

    /// Told how far the exchange has come, at most every 64 KiB or 50 ms; nil costs nothing.
    public var onProgress: (@Sendable (TransferProgress) -> Void)?

    /// A request of the parts given and the defaults of everything else.
    public init(
        method: HTTPMethod = .get, target: TargetURI, header: Header = .empty, body: RequestBody = .none,
        delivery: Delivery = .collected(limit: Delivery.defaultLimit)
    ) {
        self.method = method
        self.target = target
        self.header = header
        self.body = body
        self.delivery = delivery
        timeouts = .standard
        redirects = .standard
        validator = .standard
        accepting = []
        cachePolicy = .useProtocolCachePolicy
        template = target.path
        attributes = RequestAttributes()
    }

    /// A request for `url`, with the defaults of everything that is not given.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)`` when the URL cannot be asked.
    public init(method: HTTPMethod = .get, url: URL, header: Header = .empty, body: RequestBody = .none)
        throws(RequestError)
    {
        self.init(method: method, target: try TargetURI(checking: url.absoluteString), header: header, body: body)
    }

    /// The URL the request is for; its userinfo is left out.
    public var url: URL { target.url }
}

extension TargetURI {
    /// Reads an absolute URI, reporting what is wrong as a `RequestError`.
    init(checking text: String) throws(RequestError) {
        do {
            self = try TargetURI(text)
        } catch {
            throw RequestError(.invalidRequest(error))
        }
    }
}

extension PreparedRequest: Equatable {
    /// Whether both would put the same bytes on the wire and hand the answer over in the same way.
    ///
    /// Functions, attributes and instants are not compared. Streamed bodies are never equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.method == right.method && left.target == right.target && left.header == right.header
            && left.delivery == right.delivery && left.timeouts == right.timeouts && left.redirects == right.redirects
            && left.accepting == right.accepting && left.cachePolicy == right.cachePolicy
            && left.body.isEqual(to: right.body)
    }
}

extension RequestBody {
    fileprivate func isEqual(to other: RequestBody) -> Bool {
        switch (self, other) {
        case (.none, .none): true
        case (.bytes(let left), .bytes(let right)): left == right
        case (.file(let left, let leftRange), .file(let right, let rightRange)):
            left == right && leftRange == rightRange
        default: false
        }
    }
}

extension PreparedRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the URL, its secrets redacted.
    public var description: String { "\(method) \(target)" }

    /// The wire text, its secrets redacted.
    public var debugDescription: String { wireText }

    /// What `dump` sees: the redacted wire text.
    public var customMirror: Mirror { Mirror(self, children: ["wire": wireText]) }
}
