import RequestsMiddleware
import TestCorpora

/// Which of curl's cases are run, and why the others are not.
enum CurlCoverage {
    /// What some cases need that waits for its own theme.
    static let waiting: [String: String] = [
        "host-mapping": "names that lead to other listeners: TLS and its server names bring them",
        "cookie-jar-file": "cookies: middleware", "--cookie": "cookies: middleware",
        "--cookie-jar": "cookies: middleware", "--junk-session-cookies": "cookies: middleware",
        "digest": "Digest: middleware", "--auth:digest": "Digest: middleware",
        "coding-library": "a content coding whose library this system lacks", "https": "TLS",
        "proxy": "proxies other than an explicit one for http: TLS",
    ]

    /// What some cases need that this package does not do, on purpose.
    static let declined: [String: String] = [
        "send-http/1.0": "requests are HTTP/1.1, the highest version this client speaks (RFC 9110 §2.5)",
        "http/0.9": "a response without a status line is no HTTP/1 response (RFC 9112 §4)",
        "te-header": "chunked is the only transfer coding asked for and read (RFC 9112 §7)",
        "ignore-content-length": "a length that is announced is believed (RFC 9112 §6.3)",
        "raw-target": "the target is what RFC 9112 §3.2 makes of the URL",
    ]

    /// Where this client is stricter than curl, or leaves a choice to its caller, on purpose.
    static let differences: [String: String] = [
        "curl-0024": "the body of a refusal is waited for, which this server never ends",
        "curl-0060": "Content-Length belongs to the library, and never goes with chunks (RFC 9112 §6.2)",
        "curl-0129": "a higher minor version is read as HTTP/1.1 (RFC 9110 §2.5)",
        "curl-0188": "only a 206 goes on where something ended (RFC 9110 §15.3.7)",
        "curl-0277": "a form says itself what it is: multipart/form-data (RFC 7578 §4.1)",
        "curl-0319": "a transfer coding that is not known is refused (RFC 9112 §6.1)",
        "curl-0365": "Transfer-Encoding with Content-Length is refused (RFC 9112 §6.1)",
        "curl-0395": "a Content-Length over 2^63 is refused",
        "curl-0447": "a file has one length, read when it is opened",
        "curl-0461": "Host is always sent (RFC 9112 §3.2)",
        "curl-0669": "multipart/form-data has no parameter but its boundary (RFC 7578 §8)",
        "curl-0679": "Basic credentials with a control byte are refused (RFC 7617 §2)",
        "curl-0770": "Content-Lengths that differ are refused (RFC 9112 §6.3)",
        "curl-0772": "two Locations matter only to who follows them",
        "curl-0794": "after 302 only POST becomes GET (RFC 9110 §15.4.3)",
        "curl-0796": "after 302 only POST becomes GET (RFC 9110 §15.4.3)",
        "curl-1065": "one file for two URLs is curl's command line",
        "curl-1067": "a Referer is never made up; who wants one names it",
        "curl-1116": "the line of a chunk ends with CR LF (RFC 9112 §7.1)",
        "curl-1133": "every file of a field is a part of its own (RFC 7578 §4.3)",
        "curl-1147": "a field's name is a token (RFC 9110 §5.1)",
        "curl-1158": "every file of a field is a part of its own (RFC 7578 §4.3)",
        "curl-1186": "every file of a field is a part of its own (RFC 7578 §4.3)",
        "curl-1221": "a space in a query is %20 (RFC 3986 §2.1), and + one only in a form",
        "curl-1261": "a limit of no redirects hands the first over",
        "curl-1292": "Host is the URL's (RFC 9110 §7.2)",
        "curl-1294": "a field's name is a token (RFC 9110 §5.1)",
        "curl-1296": "Basic credentials with a control byte are refused (RFC 7617 §2)",
        "curl-1315": "every file of a field is a part of its own (RFC 7578 §4.3)",
        "curl-1332": "303 asks for the other resource with GET (RFC 9110 §15.4.4)",
        "curl-1417": "the line of a chunk ends with CR LF (RFC 9112 §7.1)",
        "curl-1473": "white space before the first field is refused (RFC 9112 §2.2)",
        "curl-1482": "chunked twice is refused (RFC 9112 §6.1)",
        "curl-1483": "chunked twice is refused (RFC 9112 §6.1)",
        "curl-1493": "the coding identity is refused (RFC 9112 §7)",
        "curl-1494": "the coding identity is refused (RFC 9112 §7)",
        "curl-2081": "a Referer is never made up; who wants one names it",
    ]

    /// Needs and options that the cases of this client's kind do not wait for.
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
        // Of what is declined.
        "--http09", "--http10", "--ignore-cl", "--post303", "--request-target", "--te",
    ]

    /// The names of content codings that can be undone here, and of none.
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

    /// The names of what the case waits for; empty when it is run.
    static func unmet(by test: CurlCase) -> [String] {
        names(in: test).filter { waiting[$0] != nil }.sorted()
    }

    /// Needs and options that nothing here knows of a case that does not wait.
    static func unknown(in test: CurlCase) -> [String] {
        guard unmet(by: test).isEmpty else { return [] }
        return names(in: test).subtracting(met).subtracting(declined.keys).sorted()
    }

    /// Why the case ends otherwise here than in curl; nil when it does not.
    static func difference(in test: CurlCase) -> String? {
        if let reason = differences[test.id] { return reason }
        // What is no response there is none here.
        if test.needs.contains("http/0.9"), test.expect.outcome == "error" { return nil }
        return test.needs.lazy.compactMap { declined[$0] }.first
    }
}

extension CurlCase {
    /// What the server answers, as text.
    fileprivate var replies: [String] {
        server.exchanges.map { String(decoding: $0.replyB64, as: UTF8.self) }
    }

    /// The content codings that the answers have.
    fileprivate var codings: [String] {
        replies.flatMap { $0.split(separator: "\r\n") }.compactMap { String($0).cut(at: ":") }
            .filter { $0.0.lowercased() == "content-encoding" }
            .flatMap { $0.1.split(separator: ",") }.map { $0.filter { $0 != " " }.lowercased() }
    }
}
