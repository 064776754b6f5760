import Synchronization

/// A request as it will be sent: everything decided, nothing performed.
///
/// It is what `Client.prepared(_:)` gives a construction test, what middleware changes and what executors perform.
public struct PreparedRequest: Sendable {
    // One reference: a request is handed from stage to stage, and rarely changed on the way.
    private var box: Box

    private final class Box: @unchecked Sendable {  // changed only while it is made, when nobody else has it
        @exclusivity(unchecked) var parts: Parts
        /// Whether the parts have been found to be valid.
        let isChecked = Atomic(false)
        /// Whether a call performs the request and follows redirects.
        let isPartOfCall: Atomic<Bool>

        init(_ parts: Parts, isPartOfCall: Bool = false) {
            self.parts = parts
            self.isPartOfCall = Atomic(isPartOfCall)
        }

        init(target: TargetURI, template: PathTemplate) {
            parts = Parts(target: target, template: template)
            isPartOfCall = Atomic(false)
        }
    }

    /// What a request consists of.
    struct Parts: Sendable {
        var method = HTTPMethod.get
        var target: TargetURI
        var header = Header.empty
        var body = RequestBody.none
        var delivery = Delivery.collected(limit: Delivery.defaultLimit)
        var deadline: Moment?
        var accepting: [MediaType] = []
        var cachePolicy = RequestCachePolicy.useProtocolCachePolicy
        var handling = Handling()
        var template: PathTemplate
        /// Nil for the first request of a call.
        var redirection: Redirection?
        /// What the environment has given this request; nil without an environment.
        var defaults: AppliedDefaults?
        var streamsCodedBodies = false

        init(target: TargetURI, template: PathTemplate) {
            self.target = target
            self.template = template
        }
    }

    init(_ parts: Parts) {
        box = Box(parts)
    }

    /// A request for `target` whose other parts `build` sets where they stay.
    init(
        target: TargetURI, template: PathTemplate, _ build: (inout Parts) throws(RequestError) -> Void
    ) throws(RequestError) {
        box = Box(target: target, template: template)
        try build(&box.parts)
    }

    /// Whether this request, as it is, has been found to be valid.
    var isChecked: Bool {
        get { box.isChecked.load(ordering: .relaxed) }
        nonmutating set { box.isChecked.store(newValue, ordering: .relaxed) }
    }

    /// Whether a call performs this request and follows redirects, so that the body of a redirect does not count.
    ///
    /// Copies that middleware makes have it too; a request that is given to an executor without a call does not.
    var isPartOfCall: Bool {
        get { box.isPartOfCall.load(ordering: .relaxed) }
        nonmutating set { box.isPartOfCall.store(newValue, ordering: .relaxed) }
    }

    /// Everything at once: what changes several properties makes one copy.
    var parts: Parts {
        get { box.parts }
        set { box = Box(newValue, isPartOfCall: isPartOfCall) }
    }

    private mutating func change(_ body: (inout Parts) -> Void) {
        var parts = parts
        body(&parts)
        self.parts = parts
    }

    /// The method.
    public var method: HTTPMethod {
        get { box.parts.method }
        set { change { $0.method = newValue } }
    }

    /// The target of the request.
    ///
    /// After a redirect to another origin no secret query items can be added; see ``hasLeftOrigin``.
    public var target: TargetURI {
        get { box.parts.target }
        set { change { $0.target = $0.guarded(newValue) } }
    }

    /// The fields to send, without those that belong to the executor: Host, Content-Length, Transfer-Encoding and
    /// Connection.
    ///
    /// After a redirect to another origin no secrets can be added; see ``hasLeftOrigin``.
    public var header: Header {
        get { box.parts.header }
        set { change { $0.header = $0.guarded(newValue) } }
    }

    /// The body.
    public var body: RequestBody {
        get { box.parts.body }
        set { change { $0.body = newValue } }
    }

    /// How the response's body is to be handed over.
    public var delivery: Delivery {
        get { box.parts.delivery }
        set { change { $0.delivery = newValue } }
    }

    /// How long the stages may wait.
    public var timeouts: Timeouts {
        get { box.parts.handling.timeouts }
        set { change { $0.handling.timeouts = newValue } }
    }

    /// When the whole call must have ended; set once, from ``Timeouts/total``, when the call begins.
    public var deadline: ContinuousClock.Instant? {
        get { box.parts.deadline?.instant }
        set { change { $0.deadline = newValue.map(Moment.init) } }
    }

    /// Whether there is a ``deadline``; instants are laid out at run time, so that asking for one costs more.
    package var hasDeadline: Bool { box.parts.deadline != nil }

    /// Which redirects are followed.
    public var redirects: RedirectPolicy {
        get { box.parts.handling.redirects }
        set { change { $0.handling.redirects = newValue } }
    }

    /// What makes a response acceptable.
    public var validator: Validator {
        get { box.parts.handling.validator }
        set { change { $0.handling.validator = newValue } }
    }

    /// The media types the decoder reads; empty for any.
    public var accepting: [MediaType] {
        get { box.parts.accepting }
        set { change { $0.accepting = newValue } }
    }

    /// Whether a cache may answer.
    public var cachePolicy: RequestCachePolicy {
        get { box.parts.cachePolicy }
        set { change { $0.cachePolicy = newValue } }
    }

    /// The path with `{}` in the place of interpolated values, such as `/users/{}`: for metrics, mocks and logs.
    public var template: String {
        get { box.parts.template.text }
        set { change { $0.template = PathTemplate(path: newValue, text: nil) } }
    }

    /// Whether there may be any ``attributes``.
    var hasAttributes: Bool { !box.parts.handling.isUsual }

    /// Values for middleware and executors, by typed key.
    public var attributes: RequestAttributes {
        get { box.parts.handling.attributes }
        set { change { $0.handling.attributes = $0.guarded(newValue) } }
    }

    /// Told how far the exchange has come, at most every 64 KiB or 50 ms; nil costs nothing.
    public var onProgress: (@Sendable (TransferProgress) -> Void)? {
        get { box.parts.handling.onProgress }
        set { change { $0.handling.onProgress = newValue } }
    }

    /// A request of the parts given and the defaults of everything else.
    public init(
        method: HTTPMethod = .get, target: TargetURI, header: Header = .empty, body: RequestBody = .none,
        delivery: Delivery = .collected(limit: Delivery.defaultLimit)
    ) {
        var parts = Parts(target: target, template: PathTemplate(path: target.path, text: nil))
        parts.method = method
        parts.header = header
        parts.body = body
        parts.delivery = delivery
        self.init(parts)
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
    /// Functions and instants are not compared, and of the attributes only those that are sent. Streamed bodies are never
    /// equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.method == right.method && left.target == right.target && left.header == right.header
            && left.delivery == right.delivery && left.timeouts == right.timeouts && left.redirects == right.redirects
            && left.accepting == right.accepting && left.cachePolicy == right.cachePolicy
            && left.body.isEqual(to: right.body) && left.hasSameOptions(as: right)
    }
}

extension RequestBody {
    fileprivate func isEqual(to other: RequestBody) -> Bool {
        switch (self, other) {
        case (.none, .none): true
        case (.bytes(let left), .bytes(let right)): left == right
        case (.file(let left, let leftRange), .file(let right, let rightRange)):
            // The names of files are bytes.
            left.hasSameBytes(as: right) && leftRange == rightRange
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
