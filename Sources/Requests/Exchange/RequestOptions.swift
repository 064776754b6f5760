/// Preferences for systems that offer a choice; nil leaves the choice to the executor.
///
/// The socket and memory executors offer none of these choices: they keep no cookies and use any available network.
/// `toURLRequest()` passes on what Foundation still offers: cellular access, cookies and the service type; on Linux,
/// Foundation stores the first and the last without effect. ``requiresContentLength`` is a feature of this library and
/// works with every executor.
public struct RequestOptions: Equatable, Sendable, RequestAttributes.Key {
    /// The attribute that carries the options.
    public typealias Value = RequestOptions

    /// The purpose of the traffic, which lets the system prioritize it; Apple platforms only.
    @nonexhaustive
    public enum ServiceType: Hashable, Sendable {
        /// Ordinary traffic.
        case standard
        /// Traffic that the user does not wait for.
        case background
        /// Traffic that the user waits for.
        case responsiveData
        /// Video.
        case video
        /// Voice.
        case voice
    }

    /// Whether a cellular network may be used; Apple platforms only.
    public var allowsCellularAccess: Bool?

    /// Whether the cookies of the session are sent and stored; the URLSession executor of this library keeps none.
    public var handlesCookies: Bool?

    /// The purpose of the traffic.
    public var serviceType: ServiceType?

    /// The priority of the request, for middleware and executors that order requests.
    ///
    /// `URLSessionExecutor` gives its task `URLSessionTask.highPriority` above `.medium` and `.lowPriority` below it.
    /// Body and response are encoded and decoded at the priority of the calling task.
    public var priority: TaskPriority?

    /// Whether the server requires Content-Length and does not accept chunked bodies.
    ///
    /// If true, a body of unknown length is collected before the request is sent, with its deferred parts evaluated, up
    /// to ``ResponseBody/Delivery/defaultLimit`` bytes. A longer body is ``RequestError/Reason/bodyEncodingFailed``,
    /// and nothing is sent. The limit for the whole call includes this time, and is checked when the body has been
    /// collected.
    public var requiresContentLength: Bool?

    /// Creates options; the executor decides about options that are nil.
    public init(
        allowsCellularAccess: Bool? = nil, handlesCookies: Bool? = nil,
        serviceType: ServiceType? = nil, priority: TaskPriority? = nil, requiresContentLength: Bool? = nil
    ) {
        self.allowsCellularAccess = allowsCellularAccess
        self.handlesCookies = handlesCookies
        self.serviceType = serviceType
        self.priority = priority
        self.requiresContentLength = requiresContentLength
    }

    /// Options for a request whose response the user waits for.
    public static let userInitiated = RequestOptions(serviceType: .responsiveData, priority: .userInitiated)

    /// Returns a copy in which the options that are set in `other` replace these.
    public func overridden(by other: RequestOptions) -> RequestOptions {
        RequestOptions(
            allowsCellularAccess: other.allowsCellularAccess ?? allowsCellularAccess,
            handlesCookies: other.handlesCookies ?? handlesCookies,
            serviceType: other.serviceType ?? serviceType,
            priority: other.priority ?? priority,
            requiresContentLength: other.requiresContentLength ?? requiresContentLength)
    }
}
