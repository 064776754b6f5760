import RequestsMiddleware
import TestCorpora

/// The cases of curl that run, and the reasons for the others.
enum CurlCoverage {
    /// The needs of cases that later features will meet.
    static let planned: [String: String] = [
        "host-mapping": "a mapping of names to other listeners: needed for TLS server names",
        "cookie-jar-file": "cookies: middleware", "--cookie": "cookies: middleware",
        "--cookie-jar": "cookies: middleware", "--junk-session-cookies": "cookies: middleware",
        "digest": "Digest: middleware", "--auth:digest": "Digest: middleware",
        "coding-library": "a content coding whose library this system lacks", "https": "TLS",
        "proxy": "proxies other than a configured one for http: TLS",
    ]

    /// The needs of cases that this package intentionally does not support.
    static let declined: [String: String] = [
        "send-http/1.0": "requests are HTTP/1.1, the highest supported version (RFC 9110 §2.5)",
        "http/0.9": "a response without a status line is not an HTTP/1 response (RFC 9112 §4)",
        "te-header": "chunked is the only supported transfer coding (RFC 9112 §7)",
        "ignore-content-length": "a Content-Length is never ignored (RFC 9112 §6.3)",
        "raw-target": "the target is derived from the URL (RFC 9112 §3.2)",
    ]

    /// The cases in which this client is intentionally stricter than curl, or leaves a choice to its caller.
    static let differences: [String: String] = [
        "curl-0024": "the body of an error response is read, and this server never ends it",
        "curl-0060": "the library sets Content-Length, and never sends it with chunks (RFC 9112 §6.2)",
        "curl-0129": "a higher minor version is read as HTTP/1.1 (RFC 9110 §2.5)",
        "curl-0188": "only a 206 resumes a download (RFC 9110 §15.3.7)",
        "curl-0277": "the content type of a form is multipart/form-data (RFC 7578 §4.1)",
        "curl-0319": "an unknown transfer coding is rejected (RFC 9112 §6.1)",
        "curl-0365": "Transfer-Encoding with Content-Length is rejected (RFC 9112 §6.1)",
        "curl-0395": "a Content-Length of 2^63 or more is rejected",
        "curl-0447": "the length of a file is read once, when it is opened",
        "curl-0461": "Host is always sent (RFC 9112 §3.2)",
        "curl-0669": "multipart/form-data has only the parameter boundary (RFC 7578 §8)",
        "curl-0679": "Basic credentials with a control character are rejected (RFC 7617 §2)",
        "curl-0770": "different values of Content-Length are rejected (RFC 9112 §6.3)",
        "curl-0772": "a second Location is not an error if redirects are not followed",
        "curl-0794": "after 302 only POST becomes GET (RFC 9110 §15.4.3)",
        "curl-0796": "after 302 only POST becomes GET (RFC 9110 §15.4.3)",
        "curl-1065": "one file for two URLs is a feature of the curl command line",
        "curl-1067": "Referer is sent only if the request has one",
        "curl-1116": "a chunk line ends in CR LF (RFC 9112 §7.1)",
        "curl-1133": "every file of a field is a separate part (RFC 7578 §4.3)",
        "curl-1147": "a field name is a token (RFC 9110 §5.1)",
        "curl-1158": "every file of a field is a separate part (RFC 7578 §4.3)",
        "curl-1186": "every file of a field is a separate part (RFC 7578 §4.3)",
        "curl-1221": "a space in a query is %20 (RFC 3986 §2.1), and + only in a form",
        "curl-1261": "with a limit of 0 the first redirect is returned",
        "curl-1292": "Host is derived from the URL (RFC 9110 §7.2)",
        "curl-1294": "a field name is a token (RFC 9110 §5.1)",
        "curl-1296": "Basic credentials with a control character are rejected (RFC 7617 §2)",
        "curl-1315": "every file of a field is a separate part (RFC 7578 §4.3)",
        "curl-1332": "a 303 is followed with GET (RFC 9110 §15.4.4)",
        "curl-1417": "a chunk line ends in CR LF (RFC 9112 §7.1)",
        "curl-1473": "white space before the first field is rejected (RFC 9112 §2.2)",
        "curl-1482": "chunked twice is rejected (RFC 9112 §6.1)",
        "curl-1483": "chunked twice is rejected (RFC 9112 §6.1)",
        "curl-1493": "the transfer coding identity is rejected (RFC 9112 §7)",
        "curl-1494": "the transfer coding identity is rejected (RFC 9112 §7)",
        "curl-2081": "Referer is sent only if the request has one",
    ]

    /// The needs and options that are supported or declined.
    private static let met: Set<String> = [
        "auth-negotiation", "bearer", "content-decoding", "etag-file", "expect-timeout", "json", "max-body-size",
        "multipart", "netrc",
        "query", "range", "raw-path", "raw-transfer", "redirect", "redirect-keep-method", "redirect-limit", "resume",
        "retry", "status-as-error", "time-condition", "upload", "urlencode",
        "--auth:any", "--bearer", "--continue-at", "--data", "--data-binary", "--data-urlencode", "--decompress",
        "--etag-compare",
        "--expect100-timeout", "--fail", "--follow", "--follow-keep-method", "--form", "--form-escape",
        "--form-string", "--get", "--head", "--header", "--json", "--max-filesize", "--max-redirs", "--method",
        "--netrc", "--netrc-file", "--netrc-optional", "--post301", "--range", "--raw", "--referer", "--retry",
        "--retry-all-errors", "--retry-max-time", "--time-cond", "--upload", "--url-query", "--user",
        // Options of declined needs.
        "--http09", "--http10", "--ignore-cl", "--post303", "--request-target", "--te",
    ]

    /// The names of the content codings that can be decoded, and of none.
    private static let known = Set(ContentDecoding.availableCodings + ["x-gzip", "identity", "none"])

    private static func names(in test: CurlCase) -> Set<String> {
        var names = Set(test.needs).union(test.client.operations.flatMap(\.options).map { "--" + $0.name })
        if names.contains("--auth:any"), test.replies.contains(where: { $0.contains("WWW-Authenticate: Digest") }) {
            names.insert("digest")
        }
        if test.client.operations.contains(where: { $0.url.hasPrefix("https:") }) { names.insert("https") }
        if names.contains("content-decoding"), !Set(test.codings).isSubset(of: known) { names.insert("coding-library") }
        return names
    }

    /// Returns the names of the planned features that the case needs; empty if it runs.
    static func unmet(by test: CurlCase) -> [String] {
        names(in: test).filter { planned[$0] != nil }.sorted()
    }

    /// Returns the unknown needs and options of a case that runs.
    static func unknown(in test: CurlCase) -> [String] {
        guard unmet(by: test).isEmpty else { return [] }
        return names(in: test).subtracting(met).subtracting(declined.keys).sorted()
    }

    /// Returns the reason why the result differs from that of curl, or nil if it does not.
    static func difference(in test: CurlCase) -> String? {
        if let reason = differences[test.id] { return reason }
        // Both clients reject a response without a status line.
        if test.needs.contains("http/0.9"), test.expect.outcome == "error" { return nil }
        return test.needs.lazy.compactMap { declined[$0] }.first
    }
}

extension CurlCase {
    /// The responses of the server as text.
    fileprivate var replies: [String] {
        server.exchanges.map { String(decoding: $0.replyB64, as: UTF8.self) }
    }

    /// The content codings of the responses.
    fileprivate var codings: [String] {
        replies.flatMap { $0.split(separator: "\r\n") }.compactMap { String($0).cut(at: ":") }
            .filter { $0.0.lowercased() == "content-encoding" }
            .flatMap { $0.1.split(separator: ",") }.map { $0.filter { $0 != " " }.lowercased() }
    }
}
