/// A type that describes an API: its base URL and what its requests share.
///
/// Adopt it in an enum of environments or in a struct with a configuration. Add what every request needs, such as an
/// API key, in ``request(to:using:)-(RequestPath,_)``: all functions that create a request call it.
public protocol RequestProviding: Sendable {
    /// The URL that all paths are relative to, by convention without a trailing slash.
    var baseURL: URL { get }

    /// Returns a request to `endpoint` with everything that the API's requests have in common.
    ///
    /// Implement it to customize every request. The default implementation calls the overload that takes a `String`, so
    /// an implementation of either overload applies to every request.
    func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Self, Void>

    /// Returns a request to `endpoint`, in the form of Requests 0.3.2.
    ///
    /// An implementation of this overload also applies to every request. Text that it passes on unchanged keeps
    /// the template, the error and the kind of the path that it was made from. Text with a prefix keeps the template
    /// and the error. To change paths that can be a ``RequestPath/reference(_:)``, implement the other overload with
    /// ``RequestPath/appending(_:)``: a reference that this one changes fails with
    /// ``RequestError/InvalidRequest/changedReference``.
    @_disfavoredOverload
    func request(to endpoint: String, using method: HTTPMethod) -> Request<Self, Void>

    /// Returns the encoder for the JSON that requests of the API send.
    ///
    /// It is called for each JSON body that has no encoder of its own, such as `.json(value)` or
    /// parameters. ``BodyProvider/makeDeterministicEncoder`` creates the default.
    func makeJSONEncoder() -> JSONEncoder

    /// Returns the decoder for the JSON that requests of the API receive.
    ///
    /// It is called for each JSON response and for each line of NDJSON, unless the response decoder has a JSON decoder
    /// of its own. The default is `JSONDecoder()`.
    func makeJSONDecoder() -> JSONDecoder
}

extension RequestProviding {
    /// Returns an encoder that sorts keys and does not escape slashes.
    public func makeJSONEncoder() -> JSONEncoder { BodyProvider.makeDeterministicEncoder() }

    /// Returns `JSONDecoder()`.
    public func makeJSONDecoder() -> JSONDecoder { JSONDecoder() }
}

extension RequestProviding {
    /// Returns a request to `endpoint`, created by the overload that takes a `String`.
    ///
    /// The text of a path contains neither its template, nor the reason why it is invalid, nor whether it is a
    /// reference, so these are restored.
    public func request(to endpoint: RequestPath, using method: HTTPMethod) -> Request<Self, Void> {
        let text: String = endpoint.encoded
        var request: Request<Self, Void> = self.request(to: text, using: method)
        request.parts.endpoint.restore(endpoint)
        return request
    }

    /// Returns a request to a path known only at run time, which is trusted like a literal.
    ///
    /// The function is generic so that a literal selects the overload with ``RequestPath``, whose interpolated values
    /// are escaped.
    @_disfavoredOverload
    public func request<Path: StringProtocol>(to endpoint: Path, using method: HTTPMethod) -> Request<Self, Void> {
        Request(api: self, endpoint: RequestPath(endpoint), responseDecoder: .none, method: method)
    }
}

extension RequestProviding {
    /// Returns a GET request for `endpoint` with its response decoded by `decoder`.
    public func get<Resource>(
        _ decoder: ResponseDecoder<Resource>, from endpoint: RequestPath
    ) -> Request<Self, Resource> {
        request(to: endpoint, using: .get).receiving(decoder)
    }

    /// Returns a POST request that sends `body` to `endpoint` and ignores the body of the response.
    public func post(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .post).sending(body)
    }

    /// Returns a POST request that sends `body` to `endpoint`, with its response decoded by `decoder`.
    public func post<Resource>(
        _ body: BodyProvider, to endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        post(body, to: endpoint).receiving(decoder)
    }

    /// Returns a PUT request that sends `body` to `endpoint` and ignores the body of the response.
    public func put(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .put).sending(body)
    }

    /// Returns a PUT request that sends `body` to `endpoint`, with its response decoded by `decoder`.
    public func put<Resource>(
        _ body: BodyProvider, to endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        put(body, to: endpoint).receiving(decoder)
    }

    /// Returns a PATCH request that sends `body` to `endpoint` and ignores the body of the response.
    public func patch(_ body: BodyProvider, to endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .patch).sending(body)
    }

    /// Returns a PATCH request that sends `body` to `endpoint`, with its response decoded by `decoder`.
    public func patch<Resource>(
        _ body: BodyProvider, to endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        patch(body, to: endpoint).receiving(decoder)
    }

    /// Returns a PATCH request that sends `body` to `endpoint` and ignores the body of the response.
    public func patch(_ endpoint: RequestPath, with body: BodyProvider) -> Request<Self, Void> {
        patch(body, to: endpoint)
    }

    /// Returns a PATCH request that sends `body` to `endpoint`, with its response decoded by `decoder`.
    public func patch<Resource>(
        _ endpoint: RequestPath, with body: BodyProvider, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        patch(body, to: endpoint, receiving: decoder)
    }

    /// Returns a DELETE request for `endpoint` that ignores the body of the response.
    public func delete(_ endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .delete)
    }

    /// Returns a DELETE request for `endpoint` with its response decoded by `decoder`.
    public func delete<Resource>(
        _ endpoint: RequestPath, receiving decoder: ResponseDecoder<Resource>
    ) -> Request<Self, Resource> {
        delete(endpoint).receiving(decoder)
    }

    /// Returns a HEAD request for `endpoint`.
    public func head(_ endpoint: RequestPath) -> Request<Self, Void> {
        request(to: endpoint, using: .head)
    }
}

/// An API that consists only of a base URL, for one-off requests.
public struct AnonymousRequestProvider: RequestProviding, Hashable {
    /// The URL that all paths are relative to.
    public let baseURL: URL

    /// Creates a provider with the base URL `baseURL`.
    public init(baseURL: URL) {
        self.baseURL = baseURL
    }

    /// Creates a provider with a base URL written in the source.
    ///
    /// A malformed URL is a programming error and traps at the line of the call.
    public init(_ baseURL: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        self.init(baseURL: URL(baseURL, file: file, line: line))
    }
}

extension AnonymousRequestProvider: CustomStringConvertible, CustomReflectable {
    /// The base URL without userinfo and with its secrets redacted.
    public var description: String { Redaction.standard.redacted(reference: baseURL.absoluteString) }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["baseURL": description]) }
}

extension URL {
    /// Creates a URL from a literal.
    ///
    /// A malformed literal is a programming error and traps at the line of the call. For text known only at run time,
    /// use `URL(string:)`, which returns nil for malformed text.
    public init(_ literal: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        guard let url = URL(string: "\(literal)") else {
            // A literal is part of the program, so a malformed one cannot be handled when it runs.
            // `preconditionFailure` prints no message in release builds, so this is `fatalError`.
            fatalError("malformed URL literal: \(literal)", file: file, line: line)
        }
        self = url
    }
}
