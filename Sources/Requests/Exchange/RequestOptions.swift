/// How a request is to be treated by a system that offers the choice; nil leaves it to the executor.
///
/// The socket and memory executors have none of these choices: they keep no cookies, do not pipeline and use whatever
/// network there is. `toURLRequest()` hands over what Foundation still offers: cellular access, cookies and the service
/// type; on Linux Foundation keeps the first and the last without acting on them. ``requiresContentLength`` is this
/// library's own, the same over every executor.
public struct RequestOptions: Equatable, Sendable, RequestAttributeKey {
    /// The attribute that carries the options.
    public typealias Value = RequestOptions

    /// What the traffic is for, so that the system can order it; Apple platforms only.
    public enum ServiceType: Hashable, Sendable {
        /// Nothing in particular.
        case standard
        /// What nobody is waiting for.
        case background
        /// What somebody is waiting for.
        case responsiveData
        /// Video.
        case video
        /// Voice.
        case voice
    }

    /// Whether a cellular network may be used; Apple platforms only.
    public var allowsCellularAccess: Bool?

    /// Whether the session's cookies are sent and stored; this library's URLSession executor keeps none.
    public var handlesCookies: Bool?

    /// Whether the request may be sent before the answer to the one before it.
    ///
    /// Nothing here acts on it: no executor pipelines, and Foundation has deprecated its switch.
    public var usesPipelining: Bool?

    /// What the traffic is for.
    public var serviceType: ServiceType?

    /// How urgent the request is: for middleware and executors that order requests.
    public var priority: TaskPriority?

    /// Whether the server takes no chunked bodies; then performing the request first collects a body whose length is not
    /// known, deferred parts evaluated, up to ``Delivery/defaultLimit`` bytes of it.
    ///
    /// More is ``RequestError/Reason/bodyNotEncoded``, and nothing is sent. The limit for the whole call goes on
    /// meanwhile, and is looked at when the body is there.
    public var requiresContentLength: Bool?

    /// Options of the parts given; the rest is left to the executor.
    public init(
        allowsCellularAccess: Bool? = nil, handlesCookies: Bool? = nil, usesPipelining: Bool? = nil,
        serviceType: ServiceType? = nil, priority: TaskPriority? = nil, requiresContentLength: Bool? = nil
    ) {
        self.allowsCellularAccess = allowsCellularAccess
        self.handlesCookies = handlesCookies
        self.usesPipelining = usesPipelining
        self.serviceType = serviceType
        self.priority = priority
        self.requiresContentLength = requiresContentLength
    }

    /// Somebody is waiting for the answer.
    public static let userInitiated = RequestOptions(serviceType: .responsiveData, priority: .userInitiated)

    /// These options, with what `other` says in their place.
    public func overridden(by other: RequestOptions) -> RequestOptions {
        RequestOptions(
            allowsCellularAccess: other.allowsCellularAccess ?? allowsCellularAccess,
            handlesCookies: other.handlesCookies ?? handlesCookies,
            usesPipelining: other.usesPipelining ?? usesPipelining, serviceType: other.serviceType ?? serviceType,
            priority: other.priority ?? priority,
            requiresContentLength: other.requiresContentLength ?? requiresContentLength)
    }
}
