import Requests
import TestSupport
import Testing

@Suite("Names of secrets")
struct SecretNameTests {
    /// Names as services write them.
    static let secrets = [
        "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-API-Key", "apiKey", "api_key", "APIKEY",
        "accessToken", "access-token", "ACCESS_TOKEN", "refreshToken", "idToken", "clientSecret", "client_secret",
        "client_assertion", "assertion", "newPassword", "old_password", "password", "passwd", "pwd", "passphrase",
        "passcode", "password2", "password_confirmation", "user[password]", "user.password", "X-Access-Token",
        "PRIVATE-TOKEN", "JOB-TOKEN", "X-Auth-Token", "X-CSRF-Token", "_csrf", "X-XSRF-TOKEN", "csrfmiddlewaretoken",
        "X-Amz-Security-Token", "X-Amz-Signature", "X-Goog-Signature", "Signature", "sig", "code_verifier",
        "codeVerifier", "device_code", "authorization_code", "jwt", "otp", "X-GitHub-OTP", "session", "sessionId",
        "session_id", "JSESSIONID", "PHPSESSID", "SAMLResponse", "secretAccessKey", "privateKey", "access_key",
        "Ocp-Apim-Subscription-Key", "x-functions-key", "DD-APPLICATION-KEY", "X-Shopify-Access-Token",
        "X-Vault-Token", "X-Hub-Signature-256", "auth", "hmac", "private_token", "consumer_secret",
    ]

    /// Everyday names, and names that only contain the word of a secret.
    static let everyday = [
        "key", "code", "state", "id", "pin", "pass", "name", "nonce", "realm", "uri", "qop", "user", "username",
        "client_id", "token_type", "tokenType", "max_tokens", "tokens", "pageToken", "next_page_token",
        "NextToken", "continuation-token", "syncToken", "X-Amz-SignedHeaders", "X-Amz-Credential", "AWSAccessKeyId",
        "X-Amz-Date", "Idempotency-Key", "Sec-WebSocket-Key", "Surrogate-Key", "Content-Type", "If-None-Match",
        "User-Agent", "Accept", "author", "authority", "authenticated", "WWW-Authenticate", "Authentication-Info",
        "keyboard", "sign", "design", "secretary", "passenger", "password_policy", "cookies_enabled", "sessions",
        "", "-", "_", "2",
    ]

    @Test("names are compared without case and punctuation, and everyday names are not secret", .rows("R-74"))
    func names() throws {
        for name in Self.secrets {
            for spelling in [
                name, name.uppercased(), name.lowercased(), name.replacingBytes { $0 == 0x2D ? "_" : nil },
            ] {
                #expect(Redaction.standard.isSecret(spelling), "\(spelling)")
                #expect("\(QueryItems.Item(name: spelling, value: "x"))".hasSuffix("=<redacted>"), "\(spelling)")
            }
        }
        for name in Self.everyday { #expect(!Redaction.standard.isSecret(name), "\(name)") }
        #expect(!Redaction.standard.isSecret(String(repeating: "a", count: 4_000) + "token"))
    }

    @Test("further names are compared in the same way", .rows("R-74"))
    func furtherNames() throws {
        let own = Redaction(also: ["pin", "X-Own-Key", "ключ", "-"])
        for name in ["PIN", "p_i_n", "xOwnKey", "x_own_key", "ключ", "password"] { #expect(own.isSecret(name)) }
        for name in ["pinned", "own-key", "key", "", "-"] { #expect(!own.isSecret(name)) }
        #expect(own != .standard && Redaction(also: ["p-i-n", "xownkey", "ключ"]) == own)
        let target = try TargetURI("http://e.com/?PIN=1234&page=2")
        #expect(target.redacted(by: own) == "http://e.com/?PIN=<redacted>&page=2")
        let request = PreparedRequest(target: target, body: .bytes(Data(#"{"p-i-n": 1234}"#.utf8)))
        #expect(request.wireText(secrets: .redacted, redaction: own).hasSuffix(#"{"p-i-n": "<redacted>"}"#))
    }
}
