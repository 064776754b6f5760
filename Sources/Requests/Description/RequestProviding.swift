/// An API: where its requests go, and what all of them have in common.
///
/// Adopted by an enum of environments or a struct with configuration. What every request needs, such as an API key, is
/// added in ``request(to:using:)-(RequestPath,_)``, which every verb goes through.
public protocol RequestProviding: Sendable {
    /// The URL all paths are below; by convention without a trailing slash.
    var baseURL: URL { get }

    /// A request to `endpoint` with what the whole API has in common; the place to customise every request.
    ///
    /// The default calls the form that takes a `String`, so that an override of either reaches every verb.
    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Self, Void>

    /// The form that Requests 0.3.2 had; an override of it still reaches every verb.
    @_disfavoredOverload
    func request(to endpoint: String, using method: HTTPMethod) -> Request<Self, Void>
}

extension RequestProviding {
    /// A request to `endpoint`, made by the form that takes a `String`, with what the text does not tell put back: the
    /// template, and what makes the path impossible.
    @inlinable
    public func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Self, Void> {
        let text: String = endpoint.encoded
        var request: Request<Self, Void> = self.request(to: text, using: method)
        request.parts.endpoint.restore(endpoint)
        return request
    }

    /// A request to a path known only at run time, which is trusted like a literal.
    ///
    /// Generic so that a literal prefers ``RequestPath``, whose interpolations are escaped.
    @_disfavoredOverload
    @inlinable
    public func request<Path: StringProtocol>(to endpoint: Path, using method: HTTPMethod) -> Request<Self, Void> {
        Request(api: self, endpoint: RequestPath(endpoint), responseDecoder: .none, method: method)
    }
}

extension RequestProviding {
    /// GETs what is at `endpoint` and decodes it with `decoder`.
    @inlinable
    public func get<Resource>(
        _ decoder: ResponseDecoder<Resource>, from endpoint: RequestPath
    ) -> Request<Self, Resource> {
        request(to: endpoint, using: .get).receiving(decoder)
    }

    /// POSTs `body` to `endpoint`; a body in the answer is ignored.
    @inlinable
    public func post(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .post).sending(body)
    }

    /// POSTs `body` to `endpoint` and decodes the answer with `decoder`.
    @inlinable
    public func post<Resource>(
        _ body: BodyProvider, to endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        post(body, to: endpoint).receiving(decoder)
    }

    /// PUTs `body` at `endpoint`; a body in the answer is ignored.
    @inlinable
    public func put(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .put).sending(body)
    }

    /// PUTs `body` at `endpoint` and decodes the answer with `decoder`.
    @inlinable
    public func put<Resource>(
        _ body: BodyProvider, to endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        put(body, to: endpoint).receiving(decoder)
    }

    /// PATCHes `endpoint` with `body`; a body in the answer is ignored.
    @inlinable
    public func patch(_ endpoint: RequestPath, with body: BodyProvider) -> Request<Self, Void> {
        request(to: endpoint, using: .patch).sending(body)
    }

    /// PATCHes `endpoint` with `body` and decodes the answer with `decoder`.
    @inlinable
    public func patch<Resource>(
        _ endpoint: RequestPath, with body: BodyProvider, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        patch(endpoint, with: body).receiving(decoder)
    }

    /// DELETEs `endpoint`; a body in the answer is ignored.
    @inlinable
    public func delete(_ endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .delete)
    }

    /// DELETEs `endpoint` and decodes the answer with `decoder`.
    @inlinable
    public func delete<Resource>(
        _ endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        delete(endpoint).receiving(decoder)
    }

    /// Asks for the head of what is at `endpoint`.
    @inlinable
    public func head(_ endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .head)
    }
}

/// An API that is nothing but a base URL: for one-off requests.
public struct AnonymousRequestProvider: RequestProviding, Hashable {
    /// The URL all paths are below.
    public let baseURL: URL

    /// A provider for `baseURL`.
    public init(baseURL: URL) {
        self.baseURL = baseURL
    }

    /// A provider for a URL written in the source; a malformed one traps at once.
    public init(_ baseURL: StaticString) {
        self.init(baseURL: URL(baseURL))
    }
}

extension URL {
    /// A URL written in the source; a malformed one traps at once.
    ///
    /// Only for literals: for text known at run time use `URL(string:)`, which can fail.
    public init(_ literal: StaticString) {
        guard let url = URL(string: "\(literal)") else {
            preconditionFailure("malformed URL literal: \(literal)")  // a mistake in the source, found at first use
        }
        self = url
    }
}
