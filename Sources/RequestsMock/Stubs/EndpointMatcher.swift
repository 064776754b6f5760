@_spi(Lock) import Requests

/// The condition of a stub for one endpoint: it matches the request that the endpoint describes.
///
/// Endpoints need not be comparable. So the requests are compared that both endpoints describe for the same API.
struct EndpointMatcher: Sendable {
    let apiType: ObjectIdentifier
    /// The type of the endpoint; nil for a `Call` or a `Request`, which a client does not record.
    let endpointType: ObjectIdentifier?
    let name: String
    private let prepare: @Sendable (_ api: any Sendable) -> Result<PreparedRequest, RequestError>
    /// A function that returns whether two values of the API are equal; nil if they cannot be compared.
    let areEqual: APIEquality?
    private let cache = PreparedEndpoint()

    /// A function that compares two values of one type.
    typealias APIEquality = @Sendable (any Sendable, any Sendable) -> Bool

    init<E: Endpoint>(_ endpoint: E, hasIdentity: Bool) {
        apiType = ObjectIdentifier(E.API.self)
        endpointType = hasIdentity ? ObjectIdentifier(E.self) : nil
        name = String(describing: E.self)
        prepare = { api in
            guard let api = api as? E.API else {
                return .failure(RequestError(.other, detail: "the request was prepared for another API"))
            }
            return Result { () throws(RequestError) in try endpoint.request(from: api).prepared() }
        }
        // Determined once, because a conditional cast to a protocol is slow.
        areEqual = (E.API.self as? any (Equatable & SendableMetatype).Type).map { Self.equality(of: $0) }
    }

    private static func equality<Value: Equatable & SendableMetatype>(of type: Value.Type) -> APIEquality {
        { left, right in
            guard let left = left as? Value, let right = right as? Value else { return false }
            return left == right
        }
    }

    func request(for api: any Sendable) -> Result<PreparedRequest, RequestError> { prepared(for: api).request }

    /// The error from preparing the endpoint for the latest request's API, or from reading its body; nil without an
    /// error.
    var problem: RequestError? {
        guard let value = cache.value.withLock({ $0 }) else { return nil }
        if case .failure(let error) = value.request { return error }
        return value.body.problem
    }

    private func prepared(for api: any Sendable) -> PreparedEndpoint.Value {
        if let areEqual, let cached = cache.value.withLock({ $0 }), areEqual(cached.api, api) { return cached }
        let value = PreparedEndpoint.Value(api: api, request: prepare(api))
        cache.value.withLock { $0 = value }
        return value
    }

    /// Returns the request that the endpoint describes for the API of `candidate`, and its body.
    func prepared(for candidate: MatchContext, _ api: any Sendable) -> PreparedEndpoint.Value {
        // Values of an API that cannot be compared: a body that was read for this request is not read again.
        if areEqual == nil, let value = candidate.prepared[ObjectIdentifier(cache)] { return value }
        let value = prepared(for: api)
        candidate.prepared[ObjectIdentifier(cache)] = value
        return value
    }

    /// Returns whether the request is the one that the endpoint describes.
    ///
    /// If middleware has changed it, the request that its own endpoint describes is compared.
    ///
    /// - Throws: ``UnreadBody`` if a body must be read first.
    func matches(_ candidate: MatchContext) throws(UnreadBody) -> Bool {
        guard acceptsType(of: candidate.request), let api = candidate.request.api else { return false }
        let expected = prepared(for: candidate, api)
        guard case .success(let request) = expected.request else { return false }
        if request.isSameTarget(as: candidate.request), try expected.body.accepts(candidate.body) { return true }
        guard let original = candidate.original, request.isSameTarget(as: original) else { return false }
        return try expected.body.accepts(candidate.originalBody)
    }

    /// Returns whether `request` was made from an endpoint of this type, or from no endpoint.
    func acceptsType(of request: PreparedRequest) -> Bool {
        guard let endpointType, let type = request.endpointType else { return true }
        return ObjectIdentifier(type) == endpointType
    }
}

/// The last request that the endpoint of a stub described, and its API.
final class PreparedEndpoint: Sendable {
    struct Value: Sendable {
        let api: any Sendable
        let request: Result<PreparedRequest, RequestError>
        let body: ComparedBody

        init(api: any Sendable, request: Result<PreparedRequest, RequestError>) {
            self.api = api
            self.request = request
            body = ComparedBody(try? request.get())
        }
    }

    let value = Lock<Value?>(nil)
}

/// A request that is compared with stubs; the values needed for that are computed once.
final class MatchContext {
    let request: PreparedRequest
    private(set) lazy var target = ReceivedTarget(request)
    private(set) lazy var original = request.original
    private(set) lazy var body = ComparedBody(request)
    private(set) lazy var originalBody = ComparedBody(original)
    /// The requests that the endpoints of stubs describe, by the identity of their caches.
    var prepared: [ObjectIdentifier: PreparedEndpoint.Value] = [:]

    init(_ request: PreparedRequest) {
        self.request = request
    }
}

extension PreparedRequest {
    /// The request as its endpoint describes it, before middleware changed it.
    ///
    /// It is nil after a redirect, and if the request was not made from an endpoint.
    var original: PreparedRequest? {
        guard redirectedFrom == nil, let api, let endpoint = typedEndpoint as? any Endpoint else { return nil }
        return Self.request(of: endpoint, api)
    }

    private static func request<E: Endpoint>(of endpoint: E, _ api: any Sendable) -> PreparedRequest? {
        guard let api = api as? E.API else { return nil }
        return try? endpoint.request(from: api).prepared()
    }

    /// Returns whether both requests have the same method and target.
    func isSameTarget(as other: PreparedRequest) -> Bool {
        method == other.method && target.hasSameOrigin(as: other.target)
            && target.requestTarget.hasSameBytes(as: other.target.requestTarget)
    }
}

extension RequestBody {
    /// The bytes in memory, empty without a body; nil for other bodies.
    var bytesInMemory: Data? {
        switch self {
        case .none: Data()
        case .bytes(let data): data
        default: nil
        }
    }
}
