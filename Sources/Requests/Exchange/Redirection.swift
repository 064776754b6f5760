/// The redirects that led to a request; the first request of a call has none.
final class Redirection: Sendable {
    /// The target of the response that was the last redirect.
    let source: TargetURI?
    /// Whether this redirect, or an earlier one of the call, led to another origin.
    let hasLeftOrigin: Bool
    /// The number of redirects that the call has followed.
    let count: Int
    /// The names of secrets that may be added although the call has left its origin.
    let permitted: Set<Field.Name>

    init(from source: TargetURI?, hasLeftOrigin: Bool, count: Int, permitting permitted: Set<Field.Name> = []) {
        self.source = source
        self.hasLeftOrigin = hasLeftOrigin
        self.count = count
        self.permitted = permitted
    }
}

extension PreparedRequest {
    /// The target of the response that was the redirect this request follows; nil for the first request of a call.
    ///
    /// Middleware runs for every request of a call; one that is to act once per call does so where this is nil.
    public var redirectedFrom: TargetURI? {
        get { parts.redirection?.source }
        set {
            let hasLeftOrigin = hasLeftOrigin || newValue.map { !$0.hasSameOrigin(as: target) } ?? false
            parts.redirection = Redirection(
                from: newValue, hasLeftOrigin: hasLeftOrigin, count: redirectCount,
                permitting: parts.redirection?.permitted ?? [])
        }
    }

    /// Whether the call has been redirected to another origin (scheme, host, port or IPv6 zone) than that of its first
    /// request, now or earlier.
    ///
    /// It stays true when a later redirect leads back: the other server has chosen that target. Then no secret can be
    /// added: ``header``, ``target`` and ``trailers`` leave out new fields and query items with a name that
    /// ``Redaction/standard`` or ``RedirectPolicy/secretFields`` calls secret. So middleware that adds a token to every
    /// request does not send it to another server. ``permitSecrets(_:)`` makes exceptions.
    public var hasLeftOrigin: Bool { parts.redirection?.hasLeftOrigin ?? false }

    /// Lets fields, trailers and query items of these `names` be added although the call has been redirected to another
    /// origin.
    ///
    /// For middleware that knows ``target`` and has credentials for that server. It holds for this request only: after
    /// the next redirect the names have to be permitted again. Without effect before the call has left its origin.
    ///
    /// ```swift
    /// if request.hasLeftOrigin, request.target.host == "storage.example" {
    ///     request.permitSecrets(.authorization)
    ///     request.header[.authorization] = sign(request)
    /// }
    /// ```
    public mutating func permitSecrets(_ names: Field.Name...) {
        guard let redirection = parts.redirection, redirection.hasLeftOrigin else { return }
        parts.redirection = Redirection(
            from: redirection.source, hasLeftOrigin: true, count: redirection.count,
            permitting: redirection.permitted.union(names))
    }

    /// The number of redirects that led to this request.
    var redirectCount: Int { parts.redirection?.count ?? 0 }
}

// MARK: What may be added after the call has left its origin

extension PreparedRequest.Parts {
    /// Whether fields called `name` stay with the origin they were meant for.
    func isSecret(_ name: Field.Name) -> Bool {
        Redaction.standard.isSecret(name) || handling.redirects.secretFields.contains(name)
    }

    private func isForbidden(_ name: Field.Name) -> Bool {
        isSecret(name) && redirection?.permitted.contains(name) != true
    }

    /// Whether secrets can no longer be added.
    private var isGuarded: Bool { redirection?.hasLeftOrigin ?? false }

    /// Returns `new` without the secrets that this request does not have and must not get.
    func guarded(_ new: Header) -> Header {
        guard isGuarded else { return new }
        var allowed = new
        allowed.removeAll { field in isForbidden(field.name) && !header.contains(field) }
        return allowed
    }

    /// Returns `new` without the secret query items that this request does not have and must not get.
    func guarded(_ new: TargetURI) -> TargetURI {
        guard isGuarded, let query = new.query else { return new }
        // The items of the redirect's own Location are its server's, and were never a secret of this client.
        let own = Set(target.query?.utf8.split(separator: UInt8(ascii: "&")).map(Array.init) ?? [])
        let items = query.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let allowed = items.filter { item in
            let name = PercentEncoding.decode(Substring(item.prefix { $0 != UInt8(ascii: "=") }))
            return !Redaction.standard.queryNames.contains(CaseInsensitiveString(name))
                || own.contains(Array(item)) || redirection?.permitted.contains(Field.Name(name)) == true
        }
        guard allowed.count < items.count else { return new }
        let text = allowed.map { String(Substring($0)) }.joined(separator: "&")
        return new.replacing(path: new.path, query: text.isEmpty ? nil : text, fragment: new.fragment)
    }

    /// Returns `new` without trailers that are secrets which this request must not get.
    func guarded(_ new: RequestAttributes) -> RequestAttributes {
        guard isGuarded, let trailers = new.trailers else { return new }
        var allowed = new
        allowed.trailers = trailers.removing(isForbidden)
        return allowed
    }
}
