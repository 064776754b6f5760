/// One of the places an API runs at, with what its requests have in common: a base URL, fields and credentials.
///
/// It is an API of its own, and a part of yours: make requests ``Request/within(_:)`` it where all of them are made.
///
/// ```swift
/// struct GitHub: RequestProviding {
///     var environment: RequestEnvironment
///     var baseURL: URL { environment.baseURL }
///     func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<GitHub, Void> {
///         Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method).within(environment)
///     }
/// }
/// ```
///
/// The defaults reach a request only when it is prepared for a URL that the environment `isPrefix(of:)`: whatever path
/// it was made with, the credentials are not sent to another host. That holds for redirects too: a request that is
/// redirected to a URL below the base URL gets the defaults, one that is redirected elsewhere loses them. Secrets that
/// stayed behind when a call left its origin do not come back on a later redirect. The options hold for the whole call.
public struct RequestEnvironment: RequestProviding {
    /// How an endpoint and the base URL become one URL.
    public enum Joining: Hashable, Sendable {
        /// The endpoint is a path below the base URL, whether it begins with a slash or not.
        case append
        /// The endpoint is a URI reference (RFC 3986 §5): `/x` leaves the base path, `?q` asks the base, an absolute URL
        /// leads elsewhere.
        case resolve
    }

    /// The base URL: with a slash at the end of a path, without query and fragment.
    public let baseURL: URL

    /// How an endpoint and the base URL become one URL.
    public var joining: Joining

    /// Fields that every request has, unless it has its own of that name.
    public var header: Header

    /// The credentials of every request that brings none of its own.
    public var authenticationProvider: AuthenticationProvider

    /// How every request is treated, unless it says so itself.
    public var options: RequestOptions

    let target: TargetURI

    /// An environment at `baseURL`; nil when that is no absolute URL of a server.
    public init?(
        _ baseURL: URL, joining: Joining = .append, header: Header = .empty,
        authenticationProvider: AuthenticationProvider = .none, options: RequestOptions = RequestOptions()
    ) {
        guard let target = try? TargetURI(baseURL.absoluteString) else { return nil }
        self.init(target, hasPath: !baseURL.path(percentEncoded: true).isEmpty)
        self.joining = joining
        self.header = header
        self.authenticationProvider = authenticationProvider
        self.options = options
    }

    /// An environment at the URL that `text` means, when it is found at `base`; nil when that is none.
    public init?(_ text: String, relativeTo base: RequestEnvironment? = nil) {
        if let base {
            guard let target = try? base.target.resolving(text), !target.host.isEmpty else { return nil }
            self.init(target, hasPath: true)
        } else {
            guard let url = URL(string: text) else { return nil }
            self.init(url)
        }
    }

    private init?(_ target: TargetURI, hasPath: Bool) {
        let path = target.path.hasByteSuffix("/") ? target.path : target.path + "/"
        let userinfo = target.userinfo.map { "\($0)@" } ?? ""
        guard let url = URL(string: "\(target.scheme)://\(userinfo)\(target.authority)\(hasPath ? path : "")") else {
            return nil
        }
        self.target = target.replacing(path: path, query: nil, fragment: nil)
        baseURL = url
        joining = .append
        header = .empty
        authenticationProvider = .none
        options = RequestOptions()
    }

    /// A request to `endpoint` within this environment.
    public func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<RequestEnvironment, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method).within(self)
    }

    /// Whether `target` is at or below the base URL: same scheme, userinfo, host and port, and a path that begins with
    /// the base's.
    public func isPrefix(of target: TargetURI) -> Bool {
        target.hasSameOrigin(as: self.target) && target.userinfo == self.target.userinfo
            && target.path.utf8.starts(with: self.target.path.utf8)
    }

    /// Whether `url` is at or below the base URL; false for what is no absolute URL.
    public func isPrefix(of url: URL) -> Bool {
        (try? TargetURI(url.absoluteString)).map { isPrefix(of: $0) } ?? false
    }
}

extension RequestEnvironment: Hashable, CustomStringConvertible {
    /// Whether both are at the same URL; the defaults do not count.
    public static func == (left: Self, right: Self) -> Bool {
        left.baseURL == right.baseURL && left.joining == right.joining
    }

    /// Hashes the URL.
    public func hash(into hasher: inout Hasher) { hasher.combine(baseURL) }

    /// The base URL without userinfo.
    public var description: String { "\(target)" }
}

extension Request {
    /// This request within `environment`: joined as it joins, and with its defaults if it leads below its base URL.
    public consuming func within(_ environment: RequestEnvironment) -> Self {
        if environment.joining == .resolve { endpoint = endpoint.asReference }
        attributes[EnvironmentDefaults.self] = EnvironmentDefaults(environment)
        return self
    }

    /// Returns this request with the defaults of `environment`, whatever its URL is.
    ///
    /// The credentials are sent to another host: for a URL that is known to belong to the same service. After a redirect
    /// to another origin the defaults apply below the base URL only.
    public consuming func applyingDefaults(of environment: RequestEnvironment) -> Self {
        attributes[EnvironmentDefaults.self] = EnvironmentDefaults(environment, isForced: true)
        return self
    }

    /// This request without the credentials of its environment; fields and options of the environment stay.
    public consuming func withoutDefaultAuthentication() -> Self {
        if let defaults = attributes[EnvironmentDefaults.self] {
            attributes[EnvironmentDefaults.self] = defaults.withoutAuthentication
        }
        return self
    }
}

/// What an environment gives the requests within it, decided when they are prepared.
///
/// By reference, because a URL within would have the layout of every optional of it worked out at run time.
final class EnvironmentDefaults: RequestAttributeKey, Sendable {
    typealias Value = EnvironmentDefaults

    private let environment: RequestEnvironment
    private let isForced: Bool
    private let hasAuthentication: Bool

    init(_ environment: RequestEnvironment, isForced: Bool = false, hasAuthentication: Bool = true) {
        self.environment = environment
        self.isForced = isForced
        self.hasAuthentication = hasAuthentication
    }

    /// The same without credentials.
    var withoutAuthentication: EnvironmentDefaults {
        EnvironmentDefaults(environment, isForced: isForced, hasAuthentication: false)
    }

    func apply(to target: TargetURI) -> Bool { isForced || environment.isPrefix(of: target) }

    /// Whether the defaults apply to the target of a redirect; the userinfo of a Location does not count.
    func apply(toRedirected target: TargetURI, hasLeftOrigin: Bool) -> Bool {
        isForced && !hasLeftOrigin
            || target.hasSameOrigin(as: environment.target)
                && target.path.utf8.starts(with: environment.target.path.utf8)
    }

    /// Puts the fields that `header` does not have, and that `condition` allows, before those it has, and returns them.
    func addFields(to header: inout Header, where condition: (Field.Name) -> Bool = { _ in true }) -> [Field] {
        let missing = environment.header.filter {
            !header.contains($0.name) && !$0.name.belongsToExecutor && condition($0.name)
        }
        if !missing.isEmpty { header = Header(missing + header) }
        return missing
    }

    func authenticate(_ header: inout Header) throws(RequestError) {
        if hasAuthentication { try environment.authenticationProvider.update(&header) }
    }

    func addOptions(to attributes: inout RequestAttributes) {
        let options = environment.options.overridden(by: attributes[RequestOptions.self] ?? RequestOptions())
        if options != RequestOptions() { attributes[RequestOptions.self] = options }
    }
}
