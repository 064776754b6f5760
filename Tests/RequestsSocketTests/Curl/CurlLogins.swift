@_spi(Lock) import Requests
import RequestsMiddleware
import TestCorpora

/// The authenticators of a client for the operations that wait for a challenge.
final class CurlLogins: Sendable {
    private let current = Lock<DigestAuthenticator?>(nil)

    /// Returns the authenticator of an operation; nil if the operation does not wait for a challenge.
    ///
    /// The collection does not say where a command of curl begins with a new state (`--next`). An operation whose first
    /// request is expected to have credentials continues with the credentials of the operation before.
    func authenticator(for operation: CurlCase.Client.Operation, in test: CurlCase) -> DigestAuthenticator? {
        let names = operation.options.map(\.name)
        let isAny = names.contains("auth:any")
        guard isAny || names.contains("auth:digest") else { return nil }
        let pair = credentials(of: operation)
        let target = operation.url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }
        let first = test.expect.requests.first { $0.target == target }
        return current.withLock { current in
            if let current, first?.value(of: "authorization") != nil { return current }
            let new = DigestAuthenticator(
                username: pair.0, password: pair.1, allowing: isAny ? [.md5, .basic] : .md5)
            current = new
            return new
        }
    }

    /// Returns the user name and password from `--user` or from the URL.
    private func credentials(of operation: CurlCase.Client.Operation) -> (String, String) {
        if let user = operation.options.first(where: { $0.name == "user" })?.value {
            return user.cut(at: ":") ?? (user, "")
        }
        let url = URL(string: operation.url.replacing("@PORT", with: "1"))
        return (
            url?.user(percentEncoded: false) ?? "", url?.password(percentEncoded: false) ?? ""
        )
    }
}

extension CurlCase.Client.Operation {
    /// Whether credentials are sent only after a challenge.
    var waitsForChallenge: Bool { options.contains { $0.name == "auth:any" || $0.name == "auth:digest" } }
}

extension String {
    /// This URL without userinfo.
    var withoutUserinfo: String {
        guard let start = firstRange(of: "//")?.upperBound else { return self }
        let end = self[start...].firstIndex(of: "/") ?? endIndex
        guard let at = self[start..<end].lastIndex(of: "@") else { return self }
        return String(self[..<start] + self[index(after: at)...])
    }
}
