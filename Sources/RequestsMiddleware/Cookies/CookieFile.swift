internal import RequestsPOSIX

struct CookieFile: Sendable {
    let path: String

    /// The maximum size of the file in bytes, which is more than 3,000 cookies of the largest size need.
    private let limit: Int
    /// The time to wait for the lock, which others have only for a moment.
    private static let lockTimeout = Duration.seconds(10)

    init(_ path: String, limit: Int = 64 << 20) {
        self.path = path
        self.limit = limit
    }

    private struct Content: Codable {
        static let currentVersion = 1

        var version = currentVersion
        var cookies: [Entry]
    }

    /// A cookie as JSON; dates are seconds since 1970, to which dates of a jar convert without loss (`Date.savable`).
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
}

extension CookieFile {
    /// Returns the cookies of the file; nil if there is none.
    func read() throws(CookieStore.Failure) -> [CookieJar.StoredCookie]? {
        guard let bytes = try attempt({ () throws(FileError) in try PrivateFile.contents(of: path, limit: limit) })
        else { return nil }
        let data = Data(bytes)
        // The version is read first, because another version has other members.
        guard let version = (try? JSONDecoder().decode(Version.self, from: data))?.version else {
            throw failure("it is not a cookie store")
        }
        guard version == Content.currentVersion else { throw failure("unknown version \(version)") }
        // The error of the decoder could quote a cookie.
        guard let content = try? JSONDecoder().decode(Content.self, from: data) else {
            throw failure("it is malformed")
        }
        var cookies: [CookieJar.StoredCookie] = []
        for entry in content.cookies {
            guard let cookie = CookieJar.StoredCookie(entry) else { throw failure("it is malformed") }
            cookies.append(cookie)
        }
        return cookies
    }

    private struct Version: Decodable {
        var version: Int
    }

    /// Replaces the file.
    func write(_ cookies: [CookieJar.StoredCookie]) throws(CookieStore.Failure) {
        let content = Content(cookies: cookies.compactMap(Entry.init))
        guard let data = try? BodyProvider.makeDeterministicEncoder().encode(content) else {
            throw failure("the cookies cannot be encoded")
        }
        // A larger file could not be read again.
        guard data.count <= limit else {
            throw failure(
                "they need more than \(ErrorText.bytes(limit)), the limit of a file; "
                    + "remove some, or lower the limits of the jar")
        }
        try attempt { () throws(FileError) in try PrivateFile.replace(path, with: Array(data)) }
    }

    /// Waits for the lock of the file, and returns it.
    func lock() async throws(CookieStore.Failure) -> PartialFile {
        let end = Deadline.after(Self.lockTimeout)
        while true {
            if let lock = try lockNow(isLast: end.hasPassed) { return lock }
            do throws(RequestError) {
                try await CallingThread.sleep(until: .after(.milliseconds(5)))
            } catch {
                throw failure("cancelled while waiting for its lock")
            }
        }
    }

    /// Returns the lock of the file; nil if another process or task has it, unless this is the last attempt.
    func lockNow(isLast: Bool) throws(CookieStore.Failure) -> PartialFile? {
        try attempt { () throws(FileError) in
            // Without a file name, the lock would be the file `.lock` in the folder.
            guard !path.isEmpty, !path.hasByteSuffix("/") else { throw .invalidPath }
            do throws(FileError) {
                return try PartialFile.open("\(path).lock", creating: true)
            } catch .locked(_) where !isLast {
                return nil
            }
        }
    }

    private func failure(_ problem: String) -> CookieStore.Failure {
        CookieStore.Failure(description: "could not use the cookies in \(ErrorText.quoted(path)): \(problem)")
    }

    private func attempt<Result>(
        _ operation: () throws(FileError) -> Result
    ) throws(CookieStore.Failure) -> Result {
        do throws(FileError) {
            return try operation()
        } catch {
            throw CookieStore.Failure(description: "could not use the stored cookies: \(error)")
        }
    }
}

extension CookieJar.StoredCookie {
    /// Creates the cookie of an entry; nil if the entry is not that of a jar.
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
    /// Creates the entry of a cookie; nil for a session cookie.
    fileprivate init?(_ cookie: CookieJar.StoredCookie) {
        guard let expires = cookie.expires else { return nil }
        self.init(
            name: cookie.name, value: cookie.value, domain: cookie.domain, path: cookie.path,
            isHostOnly: cookie.isHostOnly, isSecure: cookie.isSecure, isHTTPOnly: cookie.isHTTPOnly,
            sameSite: cookie.sameSite?.rawValue, expires: expires.timeIntervalSince1970,
            created: cookie.created.timeIntervalSince1970, lastUsed: cookie.lastUsed.timeIntervalSince1970)
    }
}
