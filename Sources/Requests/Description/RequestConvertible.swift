/// Everything needed to make a request, property by property.
///
/// ``Request`` conforms; so may one type per request, with a nested resource. Only ``baseURL`` and ``endpoint`` must be
/// given, and ``responseDecoder`` when the resource is not `Void`, `String` or `Data`. Code that performs or converts
/// requests should take this protocol rather than ``Request``.
public protocol RequestConvertible<Resource>: Sendable, CustomStringConvertible {
    /// What the response is decoded to; `Void` neither expects nor minds a body.
    associatedtype Resource

    /// The URL of the API; by convention without a trailing slash.
    var baseURL: URL { get }

    /// The path below the base URL; empty for the base URL itself.
    var endpoint: RequestPath { get }

    /// The method; GET unless given.
    var method: HTTPMethod { get }

    /// The header; empty unless given.
    var header: Header { get }

    /// The query, appended to the one the base URL has; empty unless given.
    var queryItems: QueryItems { get }

    /// Parameters, and where they go; none unless given.
    var parameterSets: [ParameterSet] { get }

    /// Whether a cache may answer; what the protocol allows unless given.
    var cachePolicy: RequestCachePolicy { get }

    /// How long the stages may wait; ``Timeouts/standard`` unless given.
    var timeout: Timeouts { get }

    /// Makes the body; none unless given.
    var bodyProvider: BodyProvider { get }

    /// Makes the resource of the response.
    var responseDecoder: ResponseDecoder<Resource> { get }

    /// Adds credentials; none unless given.
    var authenticationProvider: AuthenticationProvider { get }

    /// What makes a response acceptable; ``Validator/standard`` unless given.
    var validator: Validator { get }

    /// Which redirects are followed; ``RedirectPolicy/standard`` unless given.
    var redirects: RedirectPolicy { get }

    /// Values for middleware and executors; none unless given.
    var attributes: RequestAttributes { get }

    /// Told how far the exchange has come; nobody unless given.
    var onProgress: (@Sendable (TransferProgress) -> Void)? { get }

    /// This request as it will be sent; made of the properties unless given.
    ///
    /// A type that gives its own decides all that is sent, and has to ask for the ``PreparedRequest/delivery`` and the
    /// media types (``PreparedRequest/accepting``, and an Accept field) that its ``responseDecoder`` reads.
    ///
    /// - Throws: ``RequestError`` with what makes the request impossible.
    func prepared() throws(RequestError) -> PreparedRequest
}

/// The values a ``RequestConvertible`` has when it gives none of its own.
public enum DefaultValue {
    /// GET.
    public static var method: HTTPMethod { .get }
    /// No fields.
    public static var header: Header { .empty }
    /// No query.
    public static var queryItems: QueryItems { .empty }
    /// What the protocol allows.
    public static var cachePolicy: RequestCachePolicy { .useProtocolCachePolicy }
    /// 10 s to connect, 60 s for the first byte and between bytes, no limit for the whole.
    public static var timeout: Timeouts { .standard }
    /// No body.
    public static var bodyProvider: BodyProvider { .none }
    /// No credentials.
    public static var authenticationProvider: AuthenticationProvider { .none }
}

extension RequestConvertible {
    /// GET.
    public var method: HTTPMethod { DefaultValue.method }
    /// No fields.
    public var header: Header { DefaultValue.header }
    /// No query.
    public var queryItems: QueryItems { DefaultValue.queryItems }
    /// No parameters.
    public var parameterSets: [ParameterSet] { [] }
    /// What the protocol allows.
    public var cachePolicy: RequestCachePolicy { DefaultValue.cachePolicy }
    /// The standard timeouts.
    public var timeout: Timeouts { DefaultValue.timeout }
    /// No body.
    public var bodyProvider: BodyProvider { DefaultValue.bodyProvider }
    /// No credentials.
    public var authenticationProvider: AuthenticationProvider { DefaultValue.authenticationProvider }
    /// A 2xx status and a content type the decoder reads.
    public var validator: Validator { .standard }
    /// Up to 20 redirects, none from https to http.
    public var redirects: RedirectPolicy { .standard }
    /// No attributes.
    public var attributes: RequestAttributes { RequestAttributes() }
    /// Nobody is told.
    public var onProgress: (@Sendable (TransferProgress) -> Void)? { nil }

    /// The resource, the method and the URL, its secrets redacted; no provider is run.
    public var description: String {
        let resource = "Request<\(Resource.self)>"
        guard let target = try? self.target() else { return "\(resource) (INVALID)" }
        return "\(resource) [\(method)] (\(target))"
    }
}

extension RequestConvertible where Resource == Void {
    /// Ignores the body.
    public var responseDecoder: ResponseDecoder<Void> { .none }
}

extension RequestConvertible where Resource == String {
    /// The body as UTF-8 text.
    public var responseDecoder: ResponseDecoder<String> { .text }
}

extension RequestConvertible where Resource == Data {
    /// The body as it is.
    public var responseDecoder: ResponseDecoder<Data> { .data }
}
