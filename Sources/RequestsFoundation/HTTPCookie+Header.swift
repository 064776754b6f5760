extension ResponseHead {
    /// The cookies that the response sets, as Foundation parses them.
    public var cookies: [HTTPCookie] {
        header.values(of: .setCookie).flatMap { value in
            HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
        }
    }
}

extension Field {
    /// Returns a Cookie field (RFC 6265 §5.4) with the names and values of `cookies`; nil if there are none.
    ///
    /// The caller chooses the cookies that a request may send: this function checks neither domains, paths nor dates.
    public static func cookie(_ cookies: [HTTPCookie]) -> Field? {
        guard !cookies.isEmpty else { return nil }
        return Field(name: .cookie, value: cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))
    }
}

extension Cookie {
    /// Creates a cookie with the name and value of `cookie`; nil if they cannot be sent unchanged.
    public init?(_ cookie: HTTPCookie) {
        try? self.init(name: cookie.name, value: cookie.value)
    }
}

extension HTTPCookie {
    /// Creates Foundation's cookie for the host of `url` and all its paths, without a date; nil if the URL has no host.
    ///
    /// The host is set as the domain, because Foundation on Linux does not take it from a URL.
    public convenience init?(_ cookie: Cookie, for url: URL) {
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        self.init(properties: [.name: cookie.name, .value: cookie.value, .domain: host, .path: "/"])
    }
}

extension ResponseHead {
    /// Creates the head of a response that sets `cookie`, for a store of cookies; nil if its domain is not a host of a
    /// URL.
    ///
    /// ```swift
    /// for cookie in HTTPCookieStorage.shared.cookies ?? [] {
    ///     if let head = ResponseHead(setting: cookie) { store.store(head) }
    /// }
    /// ```
    ///
    /// A domain that begins with a dot includes the hosts below it.
    public init?(setting cookie: HTTPCookie) {
        let isDomain = cookie.domain.hasBytePrefix(".")
        let host = cookie.domain.droppingFirstBytes(isDomain ? 1 : 0)
        guard let target = try? TargetURI("\(cookie.isSecure ? "https" : "http")://\(host)/") else { return nil }
        var value = "\(cookie.name)=\(cookie.value); Path=\(cookie.path)"
        if isDomain { value += "; Domain=\(host)" }
        if let expires = cookie.expiresDate { value += "; Expires=\(HTTPDate(expires))" }
        if cookie.isSecure { value += "; Secure" }
        if cookie.isHTTPOnly { value += "; HttpOnly" }
        self.init(status: 200, header: [Field(name: .setCookie, value: value)], target: target)
    }
}
