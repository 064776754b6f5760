/// The cookies that servers have set, and the rules that select the cookies of a request (RFC 6265bis).
///
/// A jar is a value: it has no clock, no lock and no file. ``CookieStore`` is a jar that requests share.
///
/// ```swift
/// var jar = CookieJar()
/// jar.store("id=7; Path=/; Secure", from: target, at: now)
/// let cookies = jar.cookies(for: target, at: now)
/// ```
///
/// Cookies belong to a host, or to a domain and the hosts below it, and to a path, of `http` and `https` URLs only. An
/// IP address or a public suffix, such as `com`, is never a domain. A cookie with Secure is set and sent only over TLS
/// or within this machine (`localhost`, `127.0.0.0/8`, `[::1]`). A cookie from another connection cannot replace or
/// shadow it; that includes a cookie without a name such as `=id=7`, which is sent as `id=7`. A cookie whose name
/// begins with `__Secure-` or `__Host-` must have the attributes that the prefix requires. A value with a control
/// character, with more octets than ``Limits/cookieSize``, or with octets that are not UTF-8 is ignored.
public struct CookieJar: Sendable {
    /// The bounds of the jar.
    package let limits: Limits

    /// The domains that cannot be the domain of a cookie.
    package let publicSuffixes: PublicSuffixes

    private var table = CookieTable()
    /// The keys that have changed since the last ``takeChanges()``; nil if they are not recorded.
    private var changes: Changes?

    /// Creates an empty jar.
    ///
    /// - Parameters:
    ///   - limits: The bounds of the jar.
    ///   - publicSuffixes: The domains that no cookie belongs to.
    public init(limits: Limits = Limits(), publicSuffixes: PublicSuffixes = .system) {
        self.limits = limits
        self.publicSuffixes = publicSuffixes
    }

    /// The bounds of a jar.
    ///
    /// Values below 0 count as 0.
    public struct Limits: Hashable, Sendable {
        /// The maximum length of a cookie's name and value together, in bytes; a larger cookie is ignored.
        public var cookieSize: Int
        /// The maximum number of cookies.
        ///
        /// Beyond it, expired cookies are removed, then the least recently used ones.
        public var count: Int
        /// The maximum number of cookies for one domain.
        ///
        /// Beyond it, expired cookies are removed, then the least recently used ones, cookies without Secure first.
        public var countPerDomain: Int
        /// The maximum number of cookies that one response sets; further ones are ignored.
        public var countPerResponse: Int
        /// The maximum number of cookies in one request; further ones are left out.
        public var countPerRequest: Int
        /// The maximum length of the Cookie field with its name, in bytes; the first cookie that exceeds it, and all
        /// after it, are left out.
        public var fieldSize: Int
        /// The maximum lifetime of a cookie (RFC 6265bis §5.5).
        public var lifetime: Duration

        /// Creates bounds; the defaults are from RFC 6265bis §6.1 and curl.
        public init(
            cookieSize: Int = 4_096, count: Int = 3_000, countPerDomain: Int = 50, countPerResponse: Int = 50,
            countPerRequest: Int = 150, fieldSize: Int = 8_190, lifetime: Duration = .seconds(400 * 86_400)
        ) {
            self.cookieSize = max(0, cookieSize)
            self.count = max(0, count)
            self.countPerDomain = max(0, countPerDomain)
            self.countPerResponse = max(0, countPerResponse)
            self.countPerRequest = max(0, countPerRequest)
            self.fieldSize = max(0, fieldSize)
            self.lifetime = max(.zero, lifetime)
        }
    }
}

// MARK: Storing

extension CookieJar {
    /// Stores the cookies that a response sets, for the target of its request.
    ///
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - now: The current date.
    public mutating func store(_ response: ResponseHead, at now: Date) {
        // Nearly every response returns here.
        guard response.header.contains(.setCookie) else { return }
        var count = 0
        for field in response.header where field.name == .setCookie {
            guard count < limits.countPerResponse else { return }
            if store(field.valueBytes, from: response.target, at: now) { count += 1 }
        }
    }

    /// Stores the cookie of a Set-Cookie value; a cookie that has expired removes the stored one.
    ///
    /// - Parameters:
    ///   - value: The value of one Set-Cookie field.
    ///   - target: The target of the request for the response with the field.
    ///   - now: The current date.
    /// - Returns: Whether the jar has accepted the cookie.
    @discardableResult
    public mutating func store(_ value: String, from target: TargetURI, at now: Date) -> Bool {
        store(Array(value.utf8), from: target, at: now)
    }

    private mutating func store(_ bytes: [UInt8], from target: TargetURI, at now: Date) -> Bool {
        guard CookieScope.isHTTP(target), let setCookie = SetCookie(bytes, limit: limits.cookieSize),
            let cookie = cookie(of: setCookie, from: target, at: now), permits(cookie, from: target, at: now),
            setCookie.hasRequiredAttributes(of: cookie)
        else { return false }
        if cookie.isSecure { removeNameless(takenFor: cookie) }
        set(cookie, at: now)
        return true
    }

    /// Adds a cookie from another source, such as a file of another program.
    ///
    /// - Parameters:
    ///   - cookie: The cookie; one that has expired removes the stored one.
    ///   - now: The current date.
    /// - Returns: False if the cookie is too large, if its domain is a public suffix and it is not only for the host,
    ///   or if its name begins with `__Secure-` or `__Host-` and it lacks an attribute that the prefix requires.
    @discardableResult
    public mutating func insert(_ cookie: StoredCookie, at now: Date) -> Bool {
        guard cookie.size <= limits.cookieSize, cookie.hasRequiredAttributes,
            cookie.isHostOnly || !publicSuffixes.contains(cookie.domain)
        else { return false }
        var cookie = cookie
        cookie.expires = cookie.expires.map { min($0, limit(of: now)).savable }
        set(cookie, at: now)
        return true
    }

    /// Returns the cookie that a response sets; nil if the target may not set cookies for that domain.
    private func cookie(of setCookie: SetCookie, from target: TargetURI, at now: Date) -> StoredCookie? {
        let host = target.host
        guard !host.isEmpty, host.utf8.count <= StoredCookie.domainLimit else { return nil }
        var (domain, isHostOnly) = (host, true)
        switch setCookie.domain {
        case .host: break
        case .invalid: return nil
        case .named(let name):
            if name.hasSameBytes(as: host) || host.hasSameBytes(as: "[\(name)]") {
                isHostOnly = CookieScope.isAddress(host) || publicSuffixes.contains(name)
            } else {
                guard CookieScope.domain(name, matches: host), !publicSuffixes.contains(name) else { return nil }
                (domain, isHostOnly) = (name, false)
            }
        }
        return StoredCookie(
            name: setCookie.name, value: setCookie.value, domain: domain, isHostOnly: isHostOnly,
            path: setCookie.path ?? defaultPath(of: target), isSecure: setCookie.isSecure,
            isHTTPOnly: setCookie.isHTTPOnly, sameSite: setCookie.sameSite, expires: expiry(of: setCookie, at: now),
            created: now, lastUsed: now)
    }

    /// Returns the default path, or the root if the default path is longer than a cookie's path may be.
    private func defaultPath(of target: TargetURI) -> String {
        let path = CookieScope.defaultPath(of: target.path)
        return path.utf8.count <= SetCookie.attributeLimit ? path : "/"
    }

    private func expiry(of setCookie: SetCookie, at now: Date) -> Date? {
        if let age = setCookie.maxAge {
            return age > 0 ? min(now + Double(age), limit(of: now)) : .distantPast
        }
        return setCookie.expires.map { min(Date(timeIntervalSince1970: Double($0)), limit(of: now)) }
    }

    /// Returns the latest date at which a cookie that is set at `now` may expire.
    private func limit(of now: Date) -> Date { now + limits.lifetime / .seconds(1) }

    /// Returns whether `target` may set a cookie in spite of the secure cookies in the jar (RFC 6265bis §5.7, steps 13
    /// and 16).
    private func permits(_ cookie: StoredCookie, from target: TargetURI, at now: Date) -> Bool {
        guard !CookieScope.isSecure(target) else { return true }
        guard !cookie.isSecure else { return false }
        // A secure cookie of the name whose domain is above or below, and whose path the new one would shadow.
        return !table.secureCookies(named: cookie.sentName, near: cookie.domain).contains { other in
            !other.isExpired(at: now) && CookieScope.path(other.path, matches: cookie.path)
        }
    }

    /// Removes the insecure nameless cookie that a server would read as one with the name of `cookie`.
    private mutating func removeNameless(takenFor cookie: StoredCookie) {
        guard let slot = table.slot(of: cookie.key.withoutName), !table[slot].isSecure,
            table[slot].sentName.hasSameBytes(as: cookie.name)
        else { return }
        _ = record(table.remove(slot))
    }
}

extension CookieJar.StoredCookie {
    /// A prefix of a name that requires attributes (RFC 6265bis §4.1.3).
    fileprivate enum Prefix: CaseIterable {
        case secure, host

        var text: StaticString { self == .host ? "__host-" : "__secure-" }
    }

    /// The prefix of the name, or, without a name, of the value, which a server could read as a name.
    fileprivate var prefix: Prefix? {
        let text = (name.isEmpty ? value : name).utf8
        return Prefix.allCases.first { prefix in
            let (start, count) = (prefix.text.utf8Start, prefix.text.utf8CodeUnitCount)
            return text.prefix(count).lazy.map(ASCIIFolding.folded)
                .elementsEqual(UnsafeBufferPointer(start: start, count: count))
        }
    }

    /// Whether the cookie has the attributes that the prefix of its name requires.
    fileprivate var hasRequiredAttributes: Bool {
        guard let prefix else { return true }
        guard !name.isEmpty, isSecure else { return false }
        return prefix == .secure || (isHostOnly && path.hasSameBytes(as: "/"))
    }
}

extension SetCookie {
    /// Returns whether `cookie` has the attributes that the prefix of its name requires.
    ///
    /// For `__Host-`, the field itself must have the path `/` and no domain.
    fileprivate func hasRequiredAttributes(of cookie: CookieJar.StoredCookie) -> Bool {
        cookie.hasRequiredAttributes && (cookie.prefix != .host || (namesNoDomain && hasRootPath))
    }

    /// Whether the value has no domain.
    private var namesNoDomain: Bool { if case .host = domain { true } else { false } }
}

// MARK: Finding

extension CookieJar {
    /// Returns the cookies of a request, in the order in which they are sent, and records their use.
    ///
    /// - Parameters:
    ///   - target: The target of the request.
    ///   - now: The current date.
    /// - Returns: At most ``Limits/countPerRequest`` cookies, the longest paths first, then the oldest cookies.
    public mutating func cookies(for target: TargetURI, at now: Date) -> [StoredCookie] {
        guard table.count > 0, CookieScope.isHTTP(target) else { return [] }
        let now = now.savable
        let slots = table.matching(
            host: target.host, path: target.path, isSecure: CookieScope.isSecure(target), at: now)
        var found: [StoredCookie] = []
        var size = CookieHandling.fieldOverhead
        for slot in slots.prefix(limits.countPerRequest) {
            var cookie = table[slot]
            size += cookie.pairSize + (found.isEmpty ? 0 : 2)
            guard size <= limits.fieldSize else { break }
            table.use(slot, at: now)
            cookie.lastUsed = now
            found.append(cookie)
        }
        return found
    }

    /// All cookies in the order of their creation, including expired ones that were not removed yet.
    public var cookies: [StoredCookie] { table.cookies }

    /// The number of cookies.
    package var count: Int { table.count }
}

// MARK: Removing

extension CookieJar {
    private mutating func set(_ cookie: StoredCookie, at now: Date) {
        changes?.add(cookie.key)
        // Removed first, because a cookie inherits the creation time of the one that it replaces.
        if let slot = table.slot(of: cookie.key), cookie.isExpired(at: now) || table[slot].isExpired(at: now) {
            table.remove(slot)
        }
        guard !cookie.isExpired(at: now) else { return }
        table.set(cookie)
        guard table.count > limits.count || table.slots(of: cookie.domain).count > limits.countPerDomain else { return }
        removeExpired(at: now)
        while table.slots(of: cookie.domain).count > limits.countPerDomain,
            record(table.removeOldest(of: cookie.domain))
        {}
        while table.count > limits.count, record(table.removeOldest()) {}
    }

    /// Records a removed cookie, and returns whether there was one.
    private mutating func record(_ removed: StoredCookie?) -> Bool {
        if let removed { changes?.add(removed.key) }
        return removed != nil
    }

    /// Removes the cookies that have expired.
    public mutating func removeExpired(at now: Date) {
        for cookie in table.removeExpired(at: now) { changes?.add(cookie.key) }
    }

    /// Removes the session cookies, as when a program ends.
    public mutating func removeSessionCookies() { removeAll { $0.expires == nil } }

    /// Removes the cookies that satisfy `condition`; all of them without one.
    public mutating func removeAll(where condition: (StoredCookie) -> Bool = { _ in true }) {
        for cookie in table.cookies where condition(cookie) {
            if let slot = table.slot(of: cookie.key) { _ = record(table.remove(slot)) }
        }
    }
}

// MARK: Changes

extension CookieJar {
    /// The cookies that have changed, for a store that shares its file with other processes.
    struct Changes: Sendable {
        /// The keys of cookies that were set or removed.
        private(set) var keys: Set<StoredCookie.Key> = []
        /// Whether too many cookies have changed to record each; then all count as changed.
        private(set) var hasAll = false
        private let limit: Int

        init(limit: Int) { self.limit = limit }

        /// A record in which all cookies of the jar count as changed.
        static var all: Changes {
            var changes = Changes(limit: 0)
            changes.hasAll = true
            return changes
        }

        var isEmpty: Bool { keys.isEmpty && !hasAll }

        func contains(_ key: StoredCookie.Key) -> Bool { hasAll || keys.contains(key) }

        mutating func add(_ key: StoredCookie.Key) {
            guard !hasAll else { return }
            keys.insert(key)
            if keys.count > limit { (keys, hasAll) = ([], true) }
        }

        mutating func add(_ other: Changes) {
            for key in other.keys { add(key) }
            if other.hasAll { (keys, hasAll) = ([], true) }
        }
    }

    var hasChanges: Bool { changes.map { !$0.isEmpty } ?? false }

    /// Returns the changes since the last call, and begins a new record.
    ///
    /// The record has at most twice as many keys as the jar may have cookies.
    mutating func takeChanges() -> Changes {
        let limit = limits.count < .max / 2 ? 2 * limits.count : .max
        defer { changes = Changes(limit: limit) }
        return changes ?? Changes(limit: limit)
    }

    /// Counts all cookies as changed if no changes were recorded, as in a jar that has replaced another.
    mutating func recordReplacement() {
        if changes == nil { changes = .all }
    }

    /// Records changes again that could not be saved.
    mutating func restoreChanges(_ earlier: Changes) { changes?.add(earlier) }

    /// Adds the cookies from a file, unless they have changed here.
    mutating func merge(_ stored: [StoredCookie], besides own: Changes, at now: Date) {
        guard !own.hasAll else { return }
        let kept = changes
        let keys = Set(stored.map(\.key))
        removeAll { $0.expires != nil && !keys.contains($0.key) && !own.contains($0.key) }
        // In the order of their last use, which decides what is removed first. A cookie that is here already keeps its
        // place.
        for cookie in stored.sorted(by: { $0.lastUsed < $1.lastUsed }) where !own.contains(cookie.key) {
            if let slot = table.slot(of: cookie.key), table[slot].isSame(as: cookie) { continue }
            insert(cookie, at: now)
        }
        // Cookies from the file are not changes of this jar.
        changes = kept
    }
}

extension CookieJar: CustomStringConvertible, CustomReflectable {
    /// The number of cookies.
    public var description: String { "cookie jar of \(count)" }

    /// The mirror that `dump` prints: the number of cookies, whose values are secrets.
    public var customMirror: Mirror { Mirror(self, children: ["count": count]) }
}
