/// A value that describes a request of `API`, typically an enum whose cases share a `Resource`.
///
/// ```swift
/// enum Users: Endpoint {
///     case me, named(String)
///     func request(from api: GitHub) -> Request<GitHub, User> {
///         switch self {
///         case .me: api.get(.json(), from: "/user")
///         case .named(let login): api.get(.json(), from: "/users/\(login)")
///         }
///     }
/// }
/// ```
public protocol Endpoint<API, Resource>: Sendable {
    /// The API that the endpoint belongs to.
    associatedtype API: RequestProviding

    /// The type that responses are decoded to.
    associatedtype Resource

    /// Returns the request for the environment `api`.
    func request(from api: API) -> Request<API, Resource>
}

extension Endpoint {
    /// Returns the request for `api`, which carries this endpoint.
    func identifiedRequest(from api: API) -> Request<API, Resource> {
        var request = request(from: api)
        if Self.self != Request<API, Resource>.self { request.parts.typedEndpoint = self }
        return request
    }
}

extension PreparedRequest {
    /// Returns the endpoint from which a client made the request, if its type is `type`; nil otherwise.
    ///
    /// ```swift
    /// let users = mock.recordedRequests.compactMap { $0.endpoint(as: Users.self) }
    /// ```
    ///
    /// Redirects keep the endpoint. A request that is its own endpoint has none. An endpoint of more than 24 bytes
    /// takes one allocation in each request.
    public func endpoint<E: Endpoint>(as type: E.Type) -> E? { typedEndpoint as? E }
}

/// A one-off request that receives its environment when it is performed.
///
/// The resource type is inferred from the call:
///
/// ```swift
/// extension Call<GitHub, [Repo]> {
///     static func repos(of login: String) -> Self {
///         Call { $0.get(.json(), from: "/users/\(login)/repos") }
///     }
/// }
/// let repos = try await client.perform(.repos(of: "octocat"))
/// ```
public struct Call<API: RequestProviding, Resource>: Endpoint {
    let make: @Sendable (API) -> Request<API, Resource>

    /// Creates a call whose request is created by `make`.
    public init(_ make: @escaping @Sendable (API) -> Request<API, Resource>) {
        self.make = make
    }

    /// Returns the request for the environment `api`.
    public func request(from api: API) -> Request<API, Resource> {
        make(api)
    }
}

/// A request is an endpoint of its own API, so a client performs it like any other endpoint.
extension Request: Endpoint {
    /// Returns this request unchanged, whatever the environment is.
    public func request(from api: API) -> Self { self }
}
