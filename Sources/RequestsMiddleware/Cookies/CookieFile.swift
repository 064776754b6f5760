struct CookieFile: Sendable {
    let file: LockedFile

    /// Creates the file at `path`; the default limit in bytes allows for 3,000 cookies of the maximum size.
    init(_ path: String, limit: Int = 64 << 20) {
        file = LockedFile(path: path, limit: limit)
    }

    private struct Content: Codable {
        var version = 1
        var cookies: [Entry]
    }

    /// A cookie as JSON.
    ///
    /// Dates are seconds since 1970; dates of a jar convert without loss (`Date.savable`).
    fileprivate struct Entry: Codable {
        var name: String
        var value: String
        var domain: String
        var path: String
        var isHostOnly: Bool
        var isSecure: Bool
        var isHTTPOnly: Bool
        var sameSite: String?
        var expires: Double
        var created: Double
        var lastUsed: Double
    }

    /// Returns the cookies of the file; nil if there is none.
    func read() throws(LockedFile.Problem) -> [CookieJar.StoredCookie]? {
        guard let content = try file.read("cookie store", as: Content.self) else { return nil }
        var cookies: [CookieJar.StoredCookie] = []
        for entry in content.cookies {
            guard let cookie = CookieJar.StoredCookie(entry) else { throw file.problem("it is malformed") }
            cookies.append(cookie)
        }
        return cookies
    }

    func write(_ cookies: [CookieJar.StoredCookie]) throws(LockedFile.Problem) {
        try file.write(Content(cookies: cookies.compactMap(Entry.init)))
    }
}

extension CookieJar.StoredCookie {
    /// Creates the cookie of an entry; nil if no jar could have written the entry.
    fileprivate init?(_ entry: CookieFile.Entry) {
        let dates = [entry.expires, entry.created, entry.lastUsed]
        guard dates.allSatisfy({ $0.isFinite }), entry.sameSite.map({ CookieJar.SameSite(rawValue: $0) != nil }) ?? true
        else { return nil }
        self.init(
            name: entry.name, value: entry.value, domain: entry.domain, isHostOnly: entry.isHostOnly, path: entry.path,
            isSecure: entry.isSecure, isHTTPOnly: entry.isHTTPOnly,
            sameSite: entry.sameSite.flatMap(CookieJar.SameSite.init(rawValue:)),
            expires: Date(timeIntervalSince1970: entry.expires), created: Date(timeIntervalSince1970: entry.created))
        lastUsed = Date(timeIntervalSince1970: entry.lastUsed)
    }
}

extension CookieFile.Entry {
    /// Creates the entry for a cookie; nil for a session cookie.
    fileprivate init?(_ cookie: CookieJar.StoredCookie) {
        guard let expires = cookie.expires else { return nil }
        self.init(
            name: cookie.name, value: cookie.value, domain: cookie.domain, path: cookie.path,
            isHostOnly: cookie.isHostOnly, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite?.rawValue, expires: expires.timeIntervalSince1970,
            created: cookie.created.timeIntervalSince1970, lastUsed: cookie.lastUsed.timeIntervalSince1970)
    }
}
