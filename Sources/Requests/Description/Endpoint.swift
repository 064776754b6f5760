/// A request of `API` as a value of its own, typically a case of an enum whose cases all give a `Resource`.
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
    /// The API the endpoint belongs to.
    associatedtype API: RequestProviding

    /// What its responses are decoded to.
    associatedtype Resource

    /// The request, in the environment that `api` is.
    func request(from api: API) -> Request<API, Resource>
}

/// A request that has not met its environment yet; its result type follows from the call.
///
/// ```swift
/// extension Call<GitHub, [Repo]> {
///     static func repos(of login: String) -> Self { Call { $0.get(.json(), from: "/users/\(login)/repos") } }
/// }
/// let repos = try await client.perform(.repos(of: "octocat"))
/// ```
public struct Call<API: RequestProviding, Resource>: Endpoint {
    @usableFromInline let make: @Sendable (API) -> Request<API, Resource>

    /// A call that becomes the request `make` gives.
    @inlinable
    public init(_ make: @escaping @Sendable (API) -> Request<API, Resource>) {
        self.make = make
    }

    /// The request, in the environment that `api` is.
    @inlinable
    public func request(from api: API) -> Request<API, Resource> {
        make(api)
    }
}
