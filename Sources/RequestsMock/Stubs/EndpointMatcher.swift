@_spi(Lock) import Requests

/// The condition of a stub for one endpoint: the request is the one that the endpoint describes.
///
/// Endpoints need not be comparable, so the requests are compared that both describe for the same API.
struct EndpointMatcher: Sendable {
    /// The API of the endpoint.
    let apiType: ObjectIdentifier
    /// The type of the endpoint; nil for a `Call` or a `Request`, which a client does not record.
    let endpointType: ObjectIdentifier?
    /// The name of the endpoint's type.
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

    /// Returns the request that the endpoint describes for `api`.
    func request(for api: any Sendable) -> Result<PreparedRequest, RequestError> { prepared(for: api).request }

    /// The error of preparing the endpoint for the API of the latest request; nil if there was none.
    var problem: RequestError? {
        guard case .failure(let error) = cache.value.withLock({ $0?.request }) else { return nil }
        return error
    }

    private func prepared(for api: any Sendable) -> PreparedEndpoint.Value {
        if let areEqual, let cached = cache.value.withLock({ $0 }), areEqual(cached.api, api) { return cached }
        let value = PreparedEndpoint.Value(api: api, request: prepare(api))
        cache.value.withLock { $0 = value }
        return value
    }

    /// Returns whether the request is the one that the endpoint describes.
    ///
    /// If middleware has changed it, the request that its own endpoint describes is compared.
    func matches(_ candidate: MatchContext) -> Bool {
        guard acceptsType(of: candidate.request), let api = candidate.request.api else { return false }
        let expected = prepared(for: api)
        guard case .success(let request) = expected.request else { return false }
        if request.isSameTarget(as: candidate.request),
            request.body.hasSameContent(as: candidate.request.body, expected.body, candidate.body)
        {
            return true
        }
        guard let original = candidate.original, request.isSameTarget(as: original) else { return false }
        return request.body.hasSameContent(as: original.body, expected.body, candidate.originalBody)
    }

    /// Returns whether `request` was made from an endpoint of this type, or from no endpoint.
    func acceptsType(of request: PreparedRequest) -> Bool {
        guard let endpointType, let type = request.endpointType else { return true }
        return ObjectIdentifier(type) == endpointType
    }
}

/// The last request that the endpoint of a stub described, and its API.
private final class PreparedEndpoint: Sendable {
    struct Value: Sendable {
        let api: any Sendable
        let request: Result<PreparedRequest, RequestError>
        let body: ParsedBody

        init(api: any Sendable, request: Result<PreparedRequest, RequestError>) {
            self.api = api
            self.request = request
            body = ParsedBody(try? request.get().body)
        }
    }

    let value = Lock<Value?>(nil)
}

/// A body as JSON, which is parsed at most once.
final class ParsedBody: Sendable {
    private let data: Data?
    private let parsed = Lock<JSONValue??>(nil)

    init(_ body: RequestBody?) {
        data = body?.bytesInMemory
    }

    /// The body as JSON; nil if it is not JSON, not in memory or too large to be parsed.
    var json: JSONValue? {
        parsed.withLock { parsed in
            if let parsed { return parsed }
            let value = data.flatMap { data in
                data.count <= JSONDifference.maximumBytes ? ExactJSON.value(parsing: data) : nil
            }
            parsed = .some(value)
            return value
        }
    }
}

/// A request that stubs are compared with; the values that they need are computed once.
final class MatchContext {
    let request: PreparedRequest
    private(set) lazy var target = ReceivedTarget(request)
    private(set) lazy var original = request.original
    private(set) lazy var body = ParsedBody(request.body)
    private(set) lazy var originalBody = ParsedBody(original?.body)

    init(_ request: PreparedRequest) {
        self.request = request
    }
}

extension PreparedRequest {
    /// The request as its endpoint describes it, before middleware changed it; nil after a redirect, and if the request
    /// was not made from an endpoint.
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

    /// Returns whether the bodies have the same bytes or are the same JSON; a body that is not in memory is equal to
    /// every other.
    func hasSameContent(
        as other: RequestBody, _ parsed: @autoclosure () -> ParsedBody, _ otherParsed: @autoclosure () -> ParsedBody
    ) -> Bool {
        guard let left = bytesInMemory, let right = other.bytesInMemory else { return true }
        if left == right { return true }
        guard let left = parsed().json, let right = otherParsed().json else { return false }
        return ExactJSON.areEqual(left, right)
    }
}
