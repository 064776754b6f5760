/// A type that provides the cookies of requests, such as a ``CookieStore``.
///
/// Many requests use it at the same time.
public protocol CookieProviding: Sendable {
    /// Returns the cookies of a request to `target`, in the order in which they are sent.
    ///
    /// It is called for each request, also after redirects, and must return quickly. The type selects the cookies: the
    /// middleware sends all that it returns, as long as they fit.
    func cookies(for target: TargetURI) -> [CookieJar.StoredCookie]
}

/// A type that stores the cookies of responses, such as a ``CookieStore``.
public protocol CookieStoring: Sendable {
    /// Stores the cookies that `response` sets, if any.
    ///
    /// It is called for each response, also one that redirects, and must return quickly.
    func store(_ response: ResponseHead)
}

/// Middleware that sends stored cookies, and stores the cookies that responses set.
///
/// It handles each request of a call for the target of that request: a cookie that a redirect sets is stored, and sent
/// to the next target if it belongs there. A cookie is a secret of its host, so this also applies after the call has
/// left its origin.
///
/// Cookies of the request itself are always sent, before the stored ones, and replace stored ones of the same name. The
/// Cookie field with its name has at most 8,190 bytes: the first stored cookie that exceeds this, and all after it, are
/// left out.
public struct CookieHandling: Middleware {
    private let provider: (any CookieProviding)?
    private let store: (any CookieStoring)?

    /// Creates middleware that sends the cookies of `provider` and stores the cookies of responses in `store`; nil for
    /// neither.
    public init(from provider: (any CookieProviding)?, storingIn store: (any CookieStoring)?) {
        self.provider = provider
        self.store = store
    }

    /// Performs `request` with its cookies, and stores the cookies of the response.
    ///
    /// - Throws: The `RequestError` of `next`; the cookies of a response that it has are stored too.
    public func intercept(
        _ request: PreparedRequest, next: any RequestExecutor
    ) async throws(RequestError) -> RawResponse {
        var sent = request
        guard let handling = handling(of: &sent) else { return try await next.execute(request) }
        sent.add(handling.provider?.cookies(for: request.target) ?? [])
        do throws(RequestError) {
            let response = try await next.execute(sent)
            handling.store?.store(response.head)
            return response
        } catch {
            if let response = error.response { handling.store?.store(response) }
            throw error
        }
    }

    /// Returns the middleware that adds cookies to `request`, and marks a request with its own as handled; nil if no
    /// cookies are added.
    private func handling(of request: inout PreparedRequest) -> CookieHandling? {
        guard !request.declinesCookies else { return nil }
        guard let own = request.attributes[OwnCookies.self] else { return self }
        // A second middleware of this kind must not handle the request again.
        guard !own.isHandled else { return nil }
        request.attributes[OwnCookies.self] = OwnCookies(handling: own.handling, isHandled: true)
        return own.handling
    }

    /// Passes on all traits, because bodies are not changed, and adds the trait that cookies are added.
    public func traits(before next: ExecutorTraits) -> ExecutorTraits { next.union(.addsCredentials) }
}

extension CookieHandling: CustomReflectable {
    /// The mirror that `dump` prints: the types of the provider and the store, because their values may be secrets.
    public var customMirror: Mirror {
        let provider = provider.map { "\(type(of: $0))" } ?? "none"
        let store = store.map { "\(type(of: $0))" } ?? "none"
        return Mirror(self, children: ["provider": provider, "store": store])
    }
}

extension CookieHandling {
    /// The length of the field's name with the colon and the space, in bytes.
    static let fieldOverhead = "Cookie: ".utf8.count
    /// The maximum size in bytes of a field that all servers accept; curl has the same limit.
    static let fieldLimit = 8_190
}

extension PreparedRequest {
    /// Adds stored cookies after the request's own.
    fileprivate mutating func add(_ cookies: [CookieJar.StoredCookie]) {
        guard !cookies.isEmpty else { return }
        let own = header[.cookie].map(CookiePairs.init)
        var text = own?.text ?? ""
        var count = CookieHandling.fieldOverhead + text.utf8.count
        for cookie in cookies where own?.names.contains(ByteText(cookie.name)) != true {
            count += cookie.pairSize + (text.isEmpty ? 0 : 2)
            guard count <= CookieHandling.fieldLimit else { break }
            if !text.isEmpty { text += "; " }
            text += cookie.pair
        }
        guard !text.isEmpty else { return }
        // The cookies were selected for this target, not for the call's first one.
        if hasLeftOrigin { permitSecrets(.cookie) }
        header.set(Field(name: .cookie, value: text))
    }
}

/// The cookies in the Cookie field of a request.
private struct CookiePairs {
    /// The pairs without empty ones.
    let text: String
    let names: Set<ByteText>

    init(_ field: String) {
        let pairs = field.splitBytes(at: ";").map(\.trimmingBlanks).filter { !$0.isEmpty }
        text = pairs.joined(separator: "; ")
        names = Set(
            pairs.map { pair in
                // A pair without an equals sign is a value without a name.
                let equals = pair.utf8.firstIndex(of: UInt8(ascii: "="))
                return ByteText(equals.map { String(pair[..<$0]) } ?? "")
            })
    }
}

extension PreparedRequest {
    var hasOwnCookies: Bool { attributes[OwnCookies.self] != nil }

    var declinesCookies: Bool { options.handlesCookies == false }
}

/// The cookies of one request: middleware of the request, and an attribute for the executor's middleware.
private struct OwnCookies: Middleware, RequestAttributes.Key {
    typealias Value = OwnCookies

    let handling: CookieHandling
    /// Whether a middleware has handled the request with it.
    var isHandled = false

    func intercept(_ request: PreparedRequest, next: any RequestExecutor) async throws(RequestError) -> RawResponse {
        var request = request
        request.attributes[OwnCookies.self] = self
        // An executor that keeps cookies handles each of its attempts with these.
        let isHandledLater = next.middlewareOfChain.contains { $0 is CookieHandling || $0 is OwnCookies }
        if isHandledLater { return try await next.execute(request) }
        return try await handling.intercept(request, next: next)
    }

    func traits(before next: ExecutorTraits) -> ExecutorTraits { handling.traits(before: next) }
}

// MARK: Adding the middleware

extension RequestExecutor {
    /// Returns this executor with middleware that keeps cookies in `store`.
    ///
    /// Add it before `retrying(_:budget:clock:)` and `authenticating(with:within:)`, so that every attempt has the
    /// cookies of the response before it.
    public func keepingCookies(
        in store: some CookieProviding & CookieStoring = CookieStore()
    ) -> Intercepted {
        intercepted(by: CookieHandling(from: store, storingIn: store))
    }
}

extension Client {
    /// Returns this client with middleware that keeps cookies in `store`.
    public func keepingCookies(in store: some CookieProviding & CookieStoring = CookieStore()) -> Client<API> {
        Client(api, executor: executor.keepingCookies(in: store))
    }
}

extension Request {
    /// Returns this request with cookies of `store` in place of the executor's.
    ///
    /// On an executor without `keepingCookies(in:)`, they are handled outside all middleware of the executor. A cache
    /// is not used.
    public consuming func keepingCookies(in store: some CookieProviding & CookieStoring) -> Self {
        intercepted(by: OwnCookies(handling: CookieHandling(from: store, storingIn: store)))
    }

    /// Returns this request without stored cookies; the cookies of its response are not stored.
    ///
    /// Cookies that the request itself has are sent.
    public consuming func withoutCookies() -> Self {
        var options = attributes[RequestOptions.self] ?? RequestOptions()
        options.handlesCookies = false
        return with(options: options)
    }
}
