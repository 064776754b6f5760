/// The redirects that led to a request; the first request of a call has none.
final class Redirection: Sendable {
    /// The target of the request that was redirected most recently.
    let source: TargetURI?
    /// Whether one of the redirects led to another origin.
    let hasLeftOrigin: Bool
    /// The number of redirects that the call has followed.
    let count: Int
    /// The names of secrets that can be added even though the call has left its origin.
    let permitted: Set<Field.Name>

    init(from source: TargetURI?, hasLeftOrigin: Bool, count: Int, permitting permitted: Set<Field.Name> = []) {
        self.source = source
        self.hasLeftOrigin = hasLeftOrigin
        self.count = count
        self.permitted = permitted
    }

    /// Returns these redirects with `names` permitted in addition.
    func permitting(_ names: some Sequence<Field.Name>) -> Redirection {
        Redirection(from: source, hasLeftOrigin: hasLeftOrigin, count: count, permitting: permitted.union(names))
    }
}

extension PreparedRequest {
    /// The target of the request that was redirected to this one; nil for the first request of a call.
    ///
    /// Middleware runs for every request of a call. To act once for each call, check that this is nil.
    public var redirectedFrom: TargetURI? {
        get { redirection?.source }
        set {
            let hasLeftOrigin = hasLeftOrigin || newValue.map { !$0.hasSameOrigin(as: target) } ?? false
            parts.redirection = Redirection(
                from: newValue, hasLeftOrigin: hasLeftOrigin, count: redirectCount,
                permitting: redirection?.permitted ?? [])
        }
    }

    /// Whether the call has ever been redirected away from the origin (scheme, host, port or IPv6 zone) of its first
    /// request.
    ///
    /// It stays true if a later redirect leads back, because the other server has chosen that target. While it is true,
    /// no secret can be added: ``header``, ``target`` and ``trailers`` leave out new fields and query items whose names
    /// are secret according to ``Redaction/standard`` or ``RedirectPolicy/sensitiveFields``. So middleware that adds a
    /// token to every request does not send it to another server. ``permitSecrets(_:)`` makes exceptions.
    ///
    /// It is false for a request that middleware creates itself. When the middleware passes such a request on to the
    /// same origin, the request loses its secrets and the value becomes true. A request to another origin, such as a
    /// token server that the middleware chooses, keeps them.
    public var hasLeftOrigin: Bool { redirection?.hasLeftOrigin ?? false }

    /// Allows fields, trailers and query items with these `names` to be added after a redirect to another origin.
    ///
    /// Use this in middleware that checks ``target`` and has credentials for that server. The permission holds for this
    /// request only; after the next redirect, the names must be permitted again. It has no effect before the call has
    /// left its origin. If middleware creates a request for the origin of the request it received, the permitted
    /// secrets are kept.
    ///
    /// ```swift
    /// if request.hasLeftOrigin, request.target.host == "storage.example" {
    ///     request.permitSecrets(.authorization)
    ///     request.header[.authorization] = sign(request)
    /// }
    /// ```
    public mutating func permitSecrets(_ names: Field.Name...) {
        // Without redirects, the names apply if the call of the middleware that creates the request has left its
        // origin.
        let redirection = redirection ?? Redirection(from: nil, hasLeftOrigin: false, count: 0)
        parts.redirection = redirection.permitting(names)
    }

    /// The number of redirects that led to this request.
    package var redirectCount: Int { redirection?.count ?? 0 }
}

// MARK: New secrets after the call has left its origin (decision 0020)

extension PreparedRequest.Parts {
    /// Returns whether fields called `name` are not sent to another origin.
    func isSecret(_ name: Field.Name) -> Bool {
        Redaction.standard.isSecret(name) || settings.redirectPolicy.sensitiveFields.contains(name)
    }

    /// Returns whether fields called `name` must not be added after the call has left its origin.
    private func isForbidden(_ name: Field.Name) -> Bool {
        isSecret(name) && redirection?.permitted.contains(name) != true
    }

    /// Whether new secrets are left out.
    private var refusesNewSecrets: Bool { redirection?.hasLeftOrigin ?? false }

    /// Returns `new` without secret fields, unless they are permitted or already in ``header``.
    func removingNewSecrets(from new: Header) -> Header {
        guard refusesNewSecrets else { return new }
        var allowed = new
        allowed.removeAll { field in isForbidden(field.name) && !header.contains(field) }
        return allowed
    }

    /// Returns `new` without secret query items, unless they are permitted or already in ``target``.
    func removingNewSecrets(from new: TargetURI) -> TargetURI {
        guard refusesNewSecrets, let query = new.query else { return new }
        // The items of the redirect's Location belong to the other server, such as the signature of a signed URL.
        let own = Set(target.query?.utf8.split(separator: UInt8(ascii: "&")).map(Array.init) ?? [])
        let items = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let allowed = items.filter { item in
            let name = PercentEncoding.decode(Substring(item.prefix { $0 != UInt8(ascii: "=") }))
            return !isForbidden(Field.Name(name)) || own.contains(Array(item))
        }
        guard allowed.count < items.count else { return new }
        let text = allowed.map { String(Substring($0)) }.joined(separator: "&")
        return new.replacing(path: new.path, query: text.isEmpty ? nil : text, fragment: new.fragment)
    }

    /// Returns `new` without secret trailers, unless they are permitted.
    func removingNewSecrets(from new: RequestAttributes) -> RequestAttributes {
        guard refusesNewSecrets, let trailers = new.trailers else { return new }
        var allowed = new
        allowed.trailers = trailers.removing(isForbidden)
        return allowed
    }
}
