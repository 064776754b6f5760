/// A deployment of an API: a base URL with shared fields and credentials.
///
/// An environment is itself an API, and it can be part of yours: apply ``Request/within(_:)`` in the function that
/// creates all requests.
///
/// ```swift
/// struct GitHub: RequestProviding {
///     var environment: RequestEnvironment
///     var baseURL: URL { environment.baseURL }
///     func request(
///         to endpoint: RequestPath, using method: HTTPMethod
///     ) -> Request<GitHub, Void> {
///         Request(
///             api: self, endpoint: endpoint, responseDecoder: .none,
///             method: method
///         ).within(environment)
///     }
/// }
/// ```
///
/// The defaults apply to a request only when its URL is at or below the base URL, as `isPrefix(of:)` determines:
/// whatever its path is, the credentials are not sent to another host. The same holds for redirects: a request that is
/// redirected to a URL below the base URL receives the defaults, and a request that is redirected elsewhere loses them.
/// Secrets that were removed when a call left its origin are not added again on a later redirect. The options apply to
/// the whole call.
public struct RequestEnvironment: RequestProviding {
    /// A rule for combining an endpoint with the base URL.
    public enum Joining: Hashable, Sendable {
        /// Appends the endpoint to the base URL as a path, whether it begins with a slash or not.
        case append
        /// Resolves the endpoint as a URI reference (RFC 3986 §5): `/x` replaces the base path, `?q` keeps the base
        /// path and adds the query, and an absolute URL replaces the base URL.
        case resolve
    }

    /// The base URL, without query and fragment; a path ends in a slash.
    public let baseURL: URL

    /// The rule for combining an endpoint with the base URL.
    public var joining: Joining

    /// The fields for every request, except where the request has a field with the same name.
    public var header: Header

    /// The credentials for every request without its own credentials.
    public var authenticationProvider: AuthenticationProvider

    /// The options for every request; options that a request itself sets take precedence.
    public var options: RequestOptions

    let target: TargetURI

    /// Creates an environment at `baseURL`; nil when `baseURL` is not the absolute URL of a server.
    public init?(
        baseURL: URL, joining: Joining = .append, header: Header = .empty,
        authenticationProvider: AuthenticationProvider = .none, options: RequestOptions = RequestOptions()
    ) {
        guard let target = try? TargetURI(baseURL.absoluteString) else { return nil }
        self.init(target, hasPath: !baseURL.path(percentEncoded: true).isEmpty)
        self.joining = joining
        self.header = header
        self.authenticationProvider = authenticationProvider
        self.options = options
    }

    /// Creates an environment at the URL `text`, resolved against `base` if given; nil when the result is not a URL of
    /// a server.
    public init?(string text: String, relativeTo base: RequestEnvironment? = nil) {
        if let base {
            guard let target = try? base.target.resolving(text), !target.host.isEmpty else { return nil }
            self.init(target, hasPath: true)
        } else {
            guard let url = URL(string: text) else { return nil }
            self.init(baseURL: url)
        }
    }

    private init?(_ target: TargetURI, hasPath: Bool) {
        // The slash at the end makes the check of prefixes exact: `/v1/` is not a prefix of `/v10`.
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

    /// Returns a request to `endpoint` within this environment.
    public func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<RequestEnvironment, Void> {
        Request(api: self, endpoint: endpoint, responseDecoder: .none, method: method).within(self)
    }

    /// Returns a Boolean value that indicates whether `target` is at or below the base URL.
    ///
    /// Scheme, userinfo, host and port must be equal, and the path must begin with the base URL's path.
    public func isPrefix(of target: TargetURI) -> Bool {
        target.hasSameOrigin(as: self.target) && target.userinfo == self.target.userinfo
            && target.path.utf8.starts(with: self.target.path.utf8)
    }

    /// Returns a Boolean value that indicates whether `url` is at or below the base URL; false for a URL that is not
    /// absolute.
    public func isPrefix(of url: URL) -> Bool {
        (try? TargetURI(url.absoluteString)).map { isPrefix(of: $0) } ?? false
    }
}

extension RequestEnvironment: Hashable, CustomStringConvertible, CustomReflectable {
    /// Returns a Boolean value that indicates whether both have the same base URL and joining; the defaults are not
    /// compared.
    public static func == (left: Self, right: Self) -> Bool {
        left.baseURL == right.baseURL && left.joining == right.joining
    }

    /// Hashes the base URL.
    public func hash(into hasher: inout Hasher) { hasher.combine(baseURL) }

    /// The base URL without userinfo.
    public var description: String { "\(target)" }

    /// The mirror that `dump` prints: the base URL without userinfo, and the header, whose secrets are redacted.
    public var customMirror: Mirror { Mirror(self, children: ["baseURL": description, "header": header]) }
}

extension Request {
    /// Returns this request within `environment`: with its ``RequestEnvironment/joining``, and with its defaults if the
    /// URL is at or below its base URL.
    public consuming func within(_ environment: RequestEnvironment) -> Self {
        if environment.joining == .resolve { endpoint = endpoint.asReference }
        attributes[EnvironmentDefaults.self] = EnvironmentDefaults(environment)
        return self
    }

    /// Returns this request with the defaults of `environment`, whatever its URL is.
    ///
    /// The credentials are sent to the host of the request, so use this only for a URL that is known to belong to the
    /// same service. After a redirect to another origin, the defaults apply only below the base URL.
    public consuming func applyingDefaults(of environment: RequestEnvironment) -> Self {
        attributes[EnvironmentDefaults.self] = EnvironmentDefaults(environment, isForced: true)
        return self
    }

    /// Returns this request without the credentials of its environment; the fields and options of the environment still
    /// apply.
    public consuming func withoutDefaultAuthentication() -> Self {
        if let defaults = attributes[EnvironmentDefaults.self] {
            attributes[EnvironmentDefaults.self] = defaults.withoutAuthentication
        }
        return self
    }
}

/// The defaults that an environment adds to its requests when they are prepared.
///
/// It is a class, because Swift computes the layout of an optional structure with a `URL` at run time.
final class EnvironmentDefaults: RequestAttributes.Key, Sendable {
    typealias Value = EnvironmentDefaults

    private let environment: RequestEnvironment
    private let isForced: Bool
    private let hasAuthentication: Bool

    init(_ environment: RequestEnvironment, isForced: Bool = false, hasAuthentication: Bool = true) {
        self.environment = environment
        self.isForced = isForced
        self.hasAuthentication = hasAuthentication
    }

    /// These defaults without the credentials.
    var withoutAuthentication: EnvironmentDefaults {
        EnvironmentDefaults(environment, isForced: isForced, hasAuthentication: false)
    }

    /// Returns whether the defaults apply to a request for `target`.
    func applies(to target: TargetURI) -> Bool { isForced || environment.isPrefix(of: target) }

    /// Returns whether the defaults apply to the target of a redirect.
    ///
    /// The userinfo of a Location is not compared, because it is never sent.
    func applies(toRedirected target: TargetURI, hasLeftOrigin: Bool) -> Bool {
        isForced && !hasLeftOrigin
            || target.hasSameOrigin(as: environment.target)
                && target.path.utf8.starts(with: environment.target.path.utf8)
    }

    /// Inserts fields of the environment before the fields of `header`, and returns the inserted ones.
    ///
    /// Only fields that `header` lacks and `condition` accepts are inserted.
    func addFields(to header: inout Header, where condition: (Field.Name) -> Bool = { _ in true }) -> [Field] {
        let missing = environment.header.filter {
            !header.contains($0.name) && !$0.belongsToExecutor && condition($0.name)
        }
        if !missing.isEmpty { header = Header(missing + header) }
        return missing
    }

    /// Adds the credentials of the environment to `header`, unless the request declined them.
    func authenticate(_ header: inout Header) throws(RequestError) {
        if hasAuthentication { try environment.authenticationProvider.update(&header) }
    }

    /// Adds the options of the environment to `attributes`; the options of the request take precedence.
    func addOptions(to attributes: inout RequestAttributes) {
        let options = environment.options.overridden(by: attributes[RequestOptions.self] ?? RequestOptions())
        if options != RequestOptions() { attributes[RequestOptions.self] = options }
    }
}
