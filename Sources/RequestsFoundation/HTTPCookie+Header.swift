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
