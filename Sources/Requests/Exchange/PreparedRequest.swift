/// A request as it will be sent: all its values are determined, and nothing has been sent.
///
/// `Client.preparedRequest(for:)` returns one for tests that inspect requests. Middleware changes it, and executors
/// perform it.
public struct PreparedRequest: Sendable {
    // One reference, because a request is passed through many stages and rarely changed (decision 0015).
    private var box: Box

    /// Whether a call performs the request and follows redirects, so that a redirect's body cannot fail it (decision
    /// 0021).
    ///
    /// The call sets it for its executor; it is false for a request outside the call, such as the one in an error.
    package var isPartOfCall = false

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: consuming Parts) {
            self.parts = parts
        }
    }

    init(_ parts: consuming Parts) {
        box = Box(parts)
    }

    /// Creates a request with `parts`; `build` sets the other properties.
    init(
        _ parts: consuming Parts, _ build: (inout Parts) throws(RequestError) -> Void
    ) throws(RequestError) {
        try build(&parts)
        self.init(parts)
    }

    /// All parts; setting them makes one copy of the request, however many of them change.
    var parts: Parts {
        get { box.parts }
        set { box = Box(newValue) }
    }

    /// The same request, no longer marked as part of a call.
    package var outsideOfCall: PreparedRequest {
        var request = self
        request.isPartOfCall = false
        return request
    }

    /// Whether middleware around this executor handles a response with status 401 itself (PM-92).
    ///
    /// Retry middleware inside it then returns such a response unchanged.
    package var handlesUnauthorized: Bool { box.parts.handlesUnauthorized }

    /// Whether a body with a content coding may be returned as a stream although the delivery is `collected`.
    ///
    /// The middleware that decodes the stream then collects the decoded bytes as they arrive. An executor that does
    /// this has the trait ``ExecutorTraits/streamsEncodedBodies``.
    public var permitsEncodedStream: Bool { box.parts.permitsEncodedStream }

    /// The redirects that led to the request, read without copying the other parts; nil for the first request of a
    /// call.
    var redirection: Redirection? { box.parts.redirection }

    /// The endpoint from which a client made the request; nil if there is none.
    package var typedEndpoint: (any Sendable)? { box.parts.typedEndpoint }

    /// The API that the request was prepared for; nil for a request that is not a `Request`.
    package var api: (any Sendable)? { box.parts.api }

    /// Changes the parts of a copy.
    mutating func change(_ body: (inout Parts) -> Void) {
        var parts = box.parts
        body(&parts)
        box = Box(parts)
    }

    /// The request method.
    public var method: HTTPMethod {
        get { box.parts.method }
        set { change { $0.method = newValue } }
    }

    /// Returns whether the request has this method, which is faster than reading the method.
    package func hasMethod(_ method: HTTPMethod) -> Bool { box.parts.method == method }

    /// The origin of the target, read without copying the target.
    package var originKey: TargetURI.OriginKey { box.parts.target.originKey }

    /// Whether the target has userinfo, determined without copying the target.
    package var hasUserinfo: Bool { box.parts.target.userinfo != nil }

    /// Whether there are fields, determined without copying the header.
    package var hasFields: Bool { !box.parts.header.isEmpty }

    /// Returns `prefix` and, after it, the text of the target, as `TargetURI.text(after:)` does.
    package func targetText(after prefix: String) -> String { box.parts.target.text(after: prefix) }

    /// The target of the request.
    ///
    /// After a redirect to another origin, new query items with secret names are left out; see ``hasLeftOrigin``.
    public var target: TargetURI {
        get { box.parts.target }
        set { change { $0.target = $0.removingNewSecrets(from: newValue) } }
    }

    /// The fields to send, except those that the executor sets: Host, Content-Length, Transfer-Encoding and Connection.
    ///
    /// After a redirect to another origin, new fields with secret names are left out; see ``hasLeftOrigin``.
    public var header: Header {
        get { box.parts.header }
        set { change { $0.header = $0.removingNewSecrets(from: newValue) } }
    }

    /// The request body.
    public var body: RequestBody {
        get { box.parts.body }
        set {
            change { parts in
                parts.body = newValue
                // The form describes the body that it made, and no other.
                if parts.settings.form != nil { parts.settings.form = nil }
            }
        }
    }

    /// Whether the request has a body, determined without copying the body.
    package var hasBody: Bool { !box.parts.body.isNone }

    /// The form in which the response body is delivered.
    public var delivery: ResponseBody.Delivery {
        get { box.parts.delivery }
        set { change { $0.delivery = newValue } }
    }

    /// The time limits of the exchange.
    public var timeouts: Timeouts {
        get { box.parts.settings.timeouts }
        set { change { $0.settings.timeouts = newValue } }
    }

    /// The instant at which the whole call must have ended; set from ``Timeouts/total`` once, when the call begins.
    public var deadline: ContinuousClock.Instant? {
        get { box.parts.deadline?.instant }
        set { change { $0.deadline = newValue.map { Deadline($0) } } }
    }

    /// The stored form of ``deadline``, which is faster to read; ``Deadline/distantFuture`` if there is none.
    package var limit: Deadline {
        get { box.parts.deadline ?? .distantFuture }
        set { change { $0.deadline = newValue == .distantFuture ? nil : newValue } }
    }

    /// Throws if the task was cancelled or the ``deadline`` has passed.
    ///
    /// Work that never waits calls it between its steps.
    package func checkTime() throws(RequestError) { try limit.check() }

    /// Performs ``checkTime()``, and marks its error as thrown before sending.
    package func checkTimeBeforeSending() throws(RequestError) {
        do throws(RequestError) {
            try checkTime()
        } catch {
            throw error.beforeSending()
        }
    }

    /// The rules for redirects.
    public var redirectPolicy: RedirectPolicy {
        get { box.parts.settings.redirectPolicy }
        set { change { $0.settings.redirectPolicy = newValue } }
    }

    /// The check that accepts or rejects a response before its body is decoded.
    public var validator: ResponseValidator {
        get { box.parts.settings.validator }
        set { change { $0.settings.validator = newValue } }
    }

    /// Returns whether the ``validator`` is known to accept a response with `status`, whatever its header.
    ///
    /// The validator is not called. False means that it may reject the response.
    func accepts(_ status: HTTPStatus) -> Bool {
        status.isSuccess && box.parts.settings.isDefault && box.parts.acceptedTypes.isEmpty
    }

    /// The media types that the decoder reads; empty if it reads any type.
    public var acceptedTypes: [MediaType] {
        get { box.parts.acceptedTypes }
        set { change { $0.acceptedTypes = newValue } }
    }

    /// The rule for using a cache.
    public var cachePolicy: PreparedRequest.CachePolicy {
        get { box.parts.cachePolicy }
        set { change { $0.cachePolicy = newValue } }
    }

    /// The path with `{}` in place of each interpolated value, such as `/users/{}`, for metrics, mocks and logs.
    ///
    /// The path of a request for a plain URL is not a template for metrics and spans, because it can have any number
    /// of values. A path that you set is, and should have few values.
    public var pathTemplate: String {
        get { box.parts.template.text }
        set {
            change { parts in
                parts.template = PathTemplate(path: newValue, text: nil)
                parts.isTemplateKnown = true
            }
        }
    }

    /// The ``pathTemplate`` for metrics and spans; nil for the path of a plain URL or a redirect.
    package var knownTemplate: String? {
        box.parts.isTemplateKnown && box.parts.redirection == nil ? box.parts.template.text : nil
    }

    /// Whether there may be ``attributes``; false avoids reading them.
    var hasAttributes: Bool { !box.parts.settings.isDefault }

    /// Whether there are ``attributes``, read without copying them.
    package var hasOwnAttributes: Bool { hasAttributes && !box.parts.settings.attributes.isEmpty }

    /// Values for middleware and executors, stored by typed key.
    ///
    /// After a redirect to another origin, trailers with secret names are left out; see ``hasLeftOrigin``.
    public var attributes: RequestAttributes {
        get { box.parts.settings.attributes }
        set { change { $0.settings.attributes = $0.removingNewSecrets(from: newValue) } }
    }

    /// A function that receives the progress of the exchange, at most every 64 KiB or 50 ms; nil costs nothing.
    public var progressHandler: (@Sendable (TransferProgress) -> Void)? {
        get { box.parts.settings.progressHandler }
        set { change { $0.settings.progressHandler = newValue } }
    }

    /// Creates a request from its main parts, with defaults for all other properties.
    public init(
        method: HTTPMethod = .get, target: TargetURI, header: Header = .empty, body: RequestBody = .none,
        delivery: ResponseBody.Delivery = .collected(limit: ResponseBody.Delivery.defaultLimit)
    ) {
        var parts = Parts(method: method, target: target, header: header, delivery: delivery)
        parts.body = body
        self.init(parts)
    }

    /// Creates a request that a server has received: its response is streamed to the client, without time limits.
    package init(receivedWith method: HTTPMethod, target: TargetURI, header: Header, body: RequestBody) {
        var parts = Parts(
            method: method, target: target, header: header, delivery: .streamed, settings: .withoutTimeouts)
        parts.body = body
        self.init(parts)
    }

    /// Creates a request for `url`, with defaults for all other properties.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)`` if no request can be sent to the URL.
    public init(method: HTTPMethod = .get, url: URL, header: Header = .empty, body: RequestBody = .none)
        throws(RequestError)
    {
        self.init(method: method, target: try TargetURI(checking: url.absoluteString), header: header, body: body)
    }

    /// The URL of the target, without userinfo.
    public var url: URL { target.url }
}
