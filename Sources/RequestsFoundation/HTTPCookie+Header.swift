extension ResponseHead {
    /// The cookies that the response sets, as Foundation reads them.
    public var cookies: [HTTPCookie] {
        header.values(of: .setCookie).flatMap { value in
            HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": value], for: url)
        }
    }
}

extension Field {
    /// Cookie (RFC 6265 §5.4) with the names and values of `cookies`; nil when there are none.
    ///
    /// Which cookies a request may carry is for the caller to say: domains, paths and dates are not looked at.
    public static func cookie(_ cookies: [HTTPCookie]) -> Field? {
        guard !cookies.isEmpty else { return nil }
        return Field(name: .cookie, value: cookies.map { "\($0.name)=\($0.value)" }.joined(separator: "; "))
    }
}

extension Cookie {
    /// The name and the value of `cookie`; nil when they cannot be sent as they are.
    public init?(_ cookie: HTTPCookie) {
        try? self.init(name: cookie.name, value: cookie.value)
    }
}

extension HTTPCookie {
    /// `cookie` for the host of `url` and every path there, without a date; nil when the URL has no host.
    ///
    /// The host is said as the domain: Foundation on Linux does not take it from a URL.
    public convenience init?(_ cookie: Cookie, for url: URL) {
        guard let host = url.host(percentEncoded: false), !host.isEmpty else { return nil }
        self.init(properties: [.name: cookie.name, .value: cookie.value, .domain: host, .path: "/"])
    }
}
