import Requests
import RequestsMiddleware
import TestCorpora

/// The cookies of a curl command: one jar for all its operations.
struct CurlCookies {
    let store = CookieStore()

    /// Returns whether the cookie engine of curl is on for the operation.
    func isUsed(by operation: CurlCase.Client.Operation) -> Bool {
        operation.options.contains { $0.name == "cookie-jar" || ($0.name == "cookie" && !$0.value.contains("=")) }
    }

    /// Adds the cookies from the files that `--cookie` names, without session cookies after `--junk-session-cookies`.
    func load(for operation: CurlCase.Client.Operation, of test: CurlCase, url: String) {
        guard let target = try? TargetURI(url) else { return }
        let isJunked = operation.options.contains { $0.name == "junk-session-cookies" }
        for option in operation.options where option.name == "cookie" {
            for line in String(decoding: test.client.filesB64?[option.value] ?? Data(), as: UTF8.self).split(
                separator: "\n")
            {
                add(String(line), for: target, isJunked: isJunked)
            }
        }
    }

    private func add(_ line: String, for target: TargetURI, isJunked: Bool) {
        if line.lowercased().hasPrefix("set-cookie:") {
            let value = String(line.dropFirst(11))
            store.store(ResponseHead(status: 200, header: [Field(name: .setCookie, value: value)], target: target))
        } else if let cookie = Self.cookie(line), cookie.expires != nil || !isJunked {
            store.withJar { jar in jar.insert(cookie, at: Date()) }
        }
    }

    /// Returns the cookie that a line in Netscape's format describes.
    private static func cookie(_ line: String) -> CookieJar.StoredCookie? {
        let prefix = "#HttpOnly_"
        let text = line.hasPrefix(prefix) ? line.dropFirst(prefix.count) : line[...]
        let fields = text.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard !text.hasPrefix("#"), fields.count == 7, let expires = Double(fields[4]) else { return nil }
        return CookieJar.StoredCookie(
            name: fields[5], value: fields[6], domain: fields[0],
            isHostOnly: fields[1] != "TRUE" && !fields[0].hasPrefix("."), path: fields[2],
            isSecure: fields[3] == "TRUE", expires: expires > 0 ? Date(timeIntervalSince1970: expires) : nil,
            created: Date())
    }
}
