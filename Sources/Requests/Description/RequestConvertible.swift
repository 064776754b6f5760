/// A type that describes a request, property by property.
///
/// ``Request`` conforms, and so can a type of your own for each request, with a nested resource type. Only ``baseURL``
/// and ``endpoint`` are required, and ``responseDecoder`` when the resource is not `Void`, `String` or `Data`.
/// Functions that perform or convert requests should take this protocol rather than ``Request``.
public protocol RequestConvertible<Resource>: Sendable, CustomStringConvertible {
    /// The type that the response is decoded to; with `Void` a body is allowed and ignored.
    associatedtype Resource

    /// The base URL of the API, by convention without a trailing slash.
    var baseURL: URL { get }

    /// The type of ``endpoint``: ``RequestPath``, or `String` as in Requests 0.3.2.
    associatedtype EndpointPath: RequestPath.Convertible = RequestPath

    /// The type of ``queryItems``: ``QueryItems``, or `[URLQueryItem]` as in Requests 0.3.2.
    associatedtype QueryList: QueryItems.Convertible = QueryItems

    /// The path below the base URL; empty for the base URL itself. A `String` is trusted like a literal.
    var endpoint: EndpointPath { get }

    /// The HTTP method. The default is GET.
    var method: HTTPMethod { get }

    /// The header. The default is empty.
    var header: Header { get }

    /// The query items, appended to the query of the base URL. The default is empty.
    var queryItems: QueryList { get }

    /// The parameters and their destinations. There are none by default.
    var parameterSets: [ParameterSet] { get }

    /// The policy for responses from a cache. The default follows the protocol's rules.
    var cachePolicy: PreparedRequest.CachePolicy { get }

    /// The limit for the first byte and between bytes in seconds, as in Requests 0.3.2. The default is 60.
    ///
    /// Only the default implementation of ``timeouts`` reads it.
    var timeoutInterval: Double { get }

    /// The time limits of the exchange. The default is ``Timeouts/standard`` with the limits of ``timeoutInterval``.
    var timeouts: Timeouts { get }

    /// The provider of the body. The default is no body.
    var bodyProvider: BodyProvider { get }

    /// The decoder that makes the resource from the response.
    var responseDecoder: ResponseDecoder<Resource> { get }

    /// The provider of the credentials. The default adds none.
    var authenticationProvider: AuthenticationProvider { get }

    /// The validator that accepts or rejects the response. The default is ``ResponseValidator/standard``.
    var validator: ResponseValidator { get }

    /// The rules for following redirects. The default is ``RedirectPolicy/standard``.
    var redirectPolicy: RedirectPolicy { get }

    /// Values for middleware and executors. There are none by default.
    var attributes: RequestAttributes { get }

    /// A function that receives the progress of the exchange. The default is nil.
    var progressHandler: (@Sendable (TransferProgress) -> Void)? { get }

    /// Returns the encoder for a JSON body that has no encoder of its own.
    ///
    /// A ``Request`` returns the encoder of its API. ``BodyProvider/makeDeterministicEncoder`` creates the default.
    func makeJSONEncoder() -> JSONEncoder

    /// Returns the decoder for a JSON response whose ``responseDecoder`` has no JSON decoder of its own.
    ///
    /// A ``Request`` returns the decoder of its API. The default is `JSONDecoder()`.
    func makeJSONDecoder() -> JSONDecoder

    /// Returns the request as it will be sent, without sending it.
    ///
    /// The default implementation uses the properties. Your own implementation decides everything that is sent: it must
    /// set the ``PreparedRequest/delivery`` and the media types (``PreparedRequest/acceptedTypes`` and an Accept field)
    /// that its ``responseDecoder`` needs.
    ///
    /// - Throws: ``RequestError`` with the reason why the request cannot be sent.
    func prepared() throws(RequestError) -> PreparedRequest
}

/// The default values for the properties of a ``RequestConvertible``.
public enum DefaultValue {
    /// The default method, GET.
    public static var method: HTTPMethod { .get }
    /// The default header, which is empty.
    public static var header: Header { .empty }
    /// The default query, which is empty.
    public static var queryItems: QueryItems { .empty }
    /// The default cache policy, which follows the protocol's rules.
    public static var cachePolicy: PreparedRequest.CachePolicy { .useProtocolCachePolicy }
    /// The default limit for the first byte and between bytes: 60 s.
    public static var timeoutInterval: Double { 60 }
    /// The default time limits: 10 s to connect, 60 s for the first byte and between bytes, and no total limit.
    public static var timeouts: Timeouts { .standard }
    /// The default body, which is none.
    public static var bodyProvider: BodyProvider { .none }
    /// The default credentials, which are none.
    public static var authenticationProvider: AuthenticationProvider { .none }
}

extension RequestConvertible {
    /// The default method, GET.
    public var method: HTTPMethod { DefaultValue.method }
    /// The default header, which is empty.
    public var header: Header { DefaultValue.header }
    /// The default query, which is empty.
    public var queryItems: QueryItems { DefaultValue.queryItems }
    /// The default parameters, which are none.
    public var parameterSets: [ParameterSet] { [] }
    /// The default cache policy, which follows the protocol's rules.
    public var cachePolicy: PreparedRequest.CachePolicy { DefaultValue.cachePolicy }
    /// The default limit for the first byte and between bytes: 60 s.
    public var timeoutInterval: Double { DefaultValue.timeoutInterval }
    /// The default time limits: 10 s to connect, ``timeoutInterval`` for the first byte and between bytes, and no total
    /// limit.
    public var timeouts: Timeouts {
        timeoutInterval == DefaultValue.timeoutInterval
            ? DefaultValue.timeouts : DefaultValue.timeouts.with(interval: timeoutInterval)
    }
    /// The default body, which is none.
    public var bodyProvider: BodyProvider { DefaultValue.bodyProvider }
    /// The default credentials, which are none.
    public var authenticationProvider: AuthenticationProvider { DefaultValue.authenticationProvider }
    /// The default validator, which requires a 2xx status and a content type that the decoder reads.
    public var validator: ResponseValidator { .standard }
    /// The default redirect policy, which follows up to 20 redirects, but none from https to http.
    public var redirectPolicy: RedirectPolicy { .standard }
    /// The default attributes, which are none.
    public var attributes: RequestAttributes { RequestAttributes() }
    /// The default progress handler, which is nil.
    public var progressHandler: (@Sendable (TransferProgress) -> Void)? { nil }
    /// Returns the default encoder, which sorts keys and does not escape slashes.
    public func makeJSONEncoder() -> JSONEncoder { BodyProvider.makeDeterministicEncoder() }
    /// Returns the default decoder, `JSONDecoder()`.
    public func makeJSONDecoder() -> JSONDecoder { JSONDecoder() }

    /// The resource type, the method and the URL with its secrets redacted.
    ///
    /// No body provider or authentication provider is called.
    public var description: String {
        let resource = "Request<\(Resource.self)>"
        guard let target = try? self.target() else { return "\(resource) (INVALID)" }
        return "\(resource) [\(method)] (\(target))"
    }
}

extension RequestConvertible where Resource == Void {
    /// A decoder that ignores the body.
    public var responseDecoder: ResponseDecoder<Void> { .none }
}

extension RequestConvertible where Resource == String {
    /// A decoder that returns the body as text in the charset of the response.
    public var responseDecoder: ResponseDecoder<String> { .text }
}

extension RequestConvertible where Resource == Data {
    /// A decoder that returns the body unchanged.
    public var responseDecoder: ResponseDecoder<Data> { .data }
}
