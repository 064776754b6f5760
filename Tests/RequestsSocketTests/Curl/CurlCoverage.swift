import RequestsMiddleware
import TestCorpora

/// The cases of curl that run, and the reasons for the others.
enum CurlCoverage {
    /// The needs of cases that later features will meet.
    static let planned: [String: String] = [
        "mapped-address": "a mapping of addresses to other listeners: a resolver maps only names",
        "coding-library": "a content coding whose library this system lacks", "https": "TLS",
        "proxy": "proxies other than a configured one for http: TLS",
    ]

    /// The needs of cases that this package intentionally does not support.
    static let declined: [String: CurlDifference] = [
        "send-http/1.0": CurlDifference(
            "requests are HTTP/1.1, the highest supported version (RFC 9110 §2.5)", .part("line")),
        "http/0.9": CurlDifference(
            "a response without a status line is not an HTTP/1 response (RFC 9112 §4)", .error(.protocolViolation)),
        "te-header": CurlDifference(
            "chunked is the only supported transfer coding (RFC 9112 §7), and TE is not sent", .part("te"),
            .part("connection")),
        "ignore-content-length": CurlDifference(
            "a Content-Length is never ignored (RFC 9112 §6.3)", .error(.connectionLost)),
        "raw-target": CurlDifference("the target is derived from the URL (RFC 9112 §3.2)", .part("line")),
        "trusted-redirect": CurlDifference(
            "credentials stay with their origin, and no option sends them elsewhere", .part("authorization")),
    ]

    /// The rules by which this client is intentionally stricter than curl, or leaves a choice to its caller.
    private static let rules: [(difference: CurlDifference, applies: @Sendable (CurlCase) -> Bool)] = [
        (
            CurlDifference("Host is derived from the URL and always sent (RFC 9110 §7.2)", .part("host")),
            { $0.values(ofOption: "header").contains { $0.hasPrefix("host:") || $0.hasPrefix("host;") } }
        ),
        (
            CurlDifference("a chunk line ends in CR LF (RFC 9112 §7.1)", .error(.protocolViolation)),
            { $0.expectsSuccess && $0.replies.contains(where: \.hasBareLineFeed) }
        ),
        (
            CurlDifference(
                "Transfer-Encoding with Content-Length is rejected (RFC 9112 §6.3)", .error(.protocolViolation)),
            { test in
                test.expectsSuccess
                    && test.replies.contains {
                        !$0.values(of: "transfer-encoding").isEmpty && !$0.values(of: "content-length").isEmpty
                    }
            }
        ),
        (
            CurlDifference(
                "a transfer coding other than chunked once is rejected (RFC 9112 §6.1, §7)", .error(.protocolViolation)),
            { test in
                test.expectsSuccess
                    && test.replies.contains { ![[], ["chunked"]].contains($0.values(of: "transfer-encoding")) }
            }
        ),
        (
            CurlDifference(
                "Content-Length is one number below 2^63; two spellings of it are two values (RFC 9110 §8.6)",
                .error(.protocolViolation)),
            { test in
                test.expectsSuccess
                    && test.replies.contains { reply in
                        let lengths = Set(reply.values(of: "content-length"))
                        return lengths.count > 1 || lengths.contains { Int($0) == nil }
                    }
            }
        ),
        (
            CurlDifference("a higher minor version is read as HTTP/1.1 (RFC 9110 §2.5)", .noError),
            { test in
                !test.expectsSuccess && test.replies.contains { $0.statusLine.contains(#/^HTTP/1\.[2-9] /#) }
            }
        ),
        (
            CurlDifference("with a limit of 0 the first redirect is returned", .noError),
            { $0.expect.errorKind == "too-many-redirects" && $0.values(ofOption: "max-redirs") == ["0"] }
        ),
        (
            CurlDifference(
                "the body of an error response is read, and this server never ends it",
                .error(.timedOut(.betweenBytes))),
            { $0.expect.errorKind == "http-status-error" && $0.replies.last?.isEndless == true }
        ),
        (
            CurlDifference(
                "a 303 is followed with GET (RFC 9110 §15.4.4)", .part("line"), .part("body"), .part("content-length"),
                .part("content-type")),
            { test in
                !test.values(ofOption: "post303").isEmpty
                    && test.replies.contains { $0.statusLine.contains(#/^HTTP/1\.[01] 303/#) }
            }
        ),
        (
            CurlDifference(
                "a host whose last label is a number is an IPv4 address or malformed (decision 0004)",
                .error(.invalidRequest(.invalidHost)), .requestCount),
            { test in
                test.hosts?.contains { authority in
                    let labels = authority.prefix { $0 != ":" }.split(separator: ".")
                    return labels.last?.allSatisfy(\.isNumber) == true
                        && !labels.allSatisfy { $0.allSatisfy(\.isNumber) }
                } == true
            }
        ),
        (
            CurlDifference("the host of a URL is written in lower case (RFC 3986 §6.2.2.1)", .part("host")),
            { $0.hosts?.contains { $0.replacing("@PORT", with: "").contains(where: \.isUppercase) } == true }
        ),
        (
            CurlDifference("no file is read for the credentials of another host", .part("authorization")),
            { test in
                let hosts = test.expect.requests.filter { $0.value(of: "authorization") != nil }
                    .map { $0.value(of: "host") }
                return test.needs.contains("netrc") && Set(hosts).count > 1
            }
        ),
        (
            CurlDifference("a space in a query is %20 (RFC 3986 §2.1), and + only in a form", .part("line")),
            { test in
                test.replies.contains { $0.location?.trimmed.drop { $0 != "?" }.contains(" ") == true }
                    || test.values(ofOption: "url-query").contains { $0.contains(" ") }
            }
        ),
        (
            CurlDifference("a URL of http has a host after two slashes (RFC 9110 §4.2.1)", .requestCount),
            { $0.expectsSuccess && $0.replies.contains(where: \.hasHostlessLocation) }
        ),
        (
            CurlDifference(
                "the body of a redirect that is not followed is read, and this server never ends it",
                .error(.timedOut(.betweenBytes))),
            { $0.replies.contains { $0.hasHostlessLocation && $0.isEndless } }
        ),
        (
            CurlDifference(
                "the request that may be challenged has its body", .part("body"), .part("content-length")),
            { sendsBodyWithDigest($0) && $0.replies.contains { $0.statusLine.contains(" 401 ") } }
        ),
        (
            CurlDifference(
                "a request that is not challenged is complete", .part("body"), .part("content-length"), .requestCount,
                .body),
            { sendsBodyWithDigest($0) && !$0.replies.contains { $0.statusLine.contains(" 401 ") } }
        ),
        (
            CurlDifference("Referer is sent only if the request has one", .part("referer")),
            { $0.values(ofOption: "referer").contains { $0.hasSuffix(";auto") } }
        ),
    ]

    /// Whether Digest credentials are used for a request with a body, which curl sends without the body at first.
    private static func sendsBodyWithDigest(_ test: CurlCase) -> Bool {
        !test.values(ofOption: "auth:digest").isEmpty && !test.values(ofOption: "data").isEmpty
    }

    /// The other cases in which this client differs, none of which a rule describes.
    static let differences: [String: CurlDifference] = [
        "curl-0008": CurlDifference(
            "a Path that does not begin with a slash is ignored (RFC 6265 §5.2.4)", .part("cookie")),
        "curl-0062": CurlDifference("the host of the URL decides which cookies are sent", .part("cookie")),
        "curl-0427": CurlDifference(
            "of cookies that do not all fit, the oldest are sent (RFC 6265 §5.4)", .part("cookie")),
        "curl-0442": CurlDifference(
            "of cookies that do not all fit, the oldest are sent (RFC 6265 §5.4)", .part("cookie")),
        "curl-0443": CurlDifference(
            "of cookies that do not all fit, the oldest are sent (RFC 6265 §5.4)", .part("cookie")),
        "curl-0060": CurlDifference(
            "the library sets Content-Length, and never sends it with chunks (RFC 9112 §6.2)", .part("content-length")),
        "curl-0188": CurlDifference(
            "Content-Range has no meaning in a 200, whose body is the whole representation (RFC 9110 §14.4)",
            .error(.unacceptableStatus)),
        "curl-0277": CurlDifference(
            "a form is not sent with a content type without its boundary (RFC 2046 §5.1.1)",
            .error(.invalidRequest(.boundaryNotInContentType)), .requestCount),
        "curl-0447": CurlDifference(
            "the collection has the file as it is after it has grown", .part("body"), .part("content-length")),
        "curl-0669": CurlDifference(
            "a form is not sent with a content type without its boundary (RFC 2046 §5.1.1)",
            .error(.invalidRequest(.boundaryNotInContentType)), .requestCount),
        "curl-0679": CurlDifference(
            "Basic credentials with a control character are rejected (RFC 7617 §2)",
            .error(.invalidRequest(.invalidFieldValue)), .requestCount),
        "curl-0772": CurlDifference(
            "a second Location is not an error if redirects are not followed", .noError),
        "curl-0794": CurlDifference(
            "after 302 only POST becomes GET (RFC 9110 §15.4.3)", .part("line"), .part("body"), .part("content-length"),
            .part("content-type")),
        "curl-0796": CurlDifference(
            "after 302 only POST becomes GET (RFC 9110 §15.4.3)", .part("line"), .part("body"), .part("content-length"),
            .part("content-type")),
        "curl-1065": CurlDifference(
            "one file for two URLs is a feature of the curl command line", .part("line"),
            .part("body"), .part("content-length")),
        "curl-1133": CurlDifference("every file of a field is a separate part (RFC 7578 §4.3)", .part("body")),
        "curl-1147": CurlDifference(
            "a field name is a token (RFC 9110 §5.1)", .error(.invalidRequest(.invalidFieldName)), .requestCount),
        "curl-1158": CurlDifference("every file of a field is a separate part (RFC 7578 §4.3)", .part("body")),
        "curl-1186": CurlDifference("every file of a field is a separate part (RFC 7578 §4.3)", .part("body")),
        "curl-1294": CurlDifference(
            "a field name is a token (RFC 9110 §5.1)", .error(.invalidRequest(.invalidFieldName)), .requestCount),
        "curl-1296": CurlDifference(
            "Basic credentials with a control character are rejected (RFC 7617 §2)",
            .error(.invalidRequest(.invalidFieldValue)), .requestCount),
        "curl-1315": CurlDifference("every file of a field is a separate part (RFC 7578 §4.3)", .part("body")),
        "curl-1473": CurlDifference(
            "white space before the first field is rejected (RFC 9112 §2.2)", .error(.protocolViolation)),
    ]

    /// The needs and options that are supported or declined.
    private static let met: Set<String> = [
        "auth-negotiation", "bearer", "content-decoding", "cookie-jar-file", "digest", "etag-file", "expect-timeout",
        "host-mapping",
        "json",
        "max-body-size",
        "multipart", "netrc",
        "query", "range", "raw-path", "raw-transfer", "redirect", "redirect-keep-method", "redirect-limit", "resume",
        "retry", "status-as-error", "time-condition", "upload", "urlencode",
        "--auth:any", "--auth:digest", "--bearer", "--continue-at", "--cookie", "--cookie-jar", "--data",
        "--data-binary", "--data-urlencode",
        "--decompress",
        "--etag-compare",
        "--expect100-timeout", "--fail", "--follow", "--follow-keep-method", "--form", "--form-escape",
        "--form-string", "--get", "--head", "--header", "--json", "--junk-session-cookies", "--max-filesize",
        "--max-redirs", "--max-time",
        "--method",
        "--netrc", "--netrc-file", "--netrc-optional", "--path-as-is", "--post301", "--post302", "--range", "--raw",
        "--referer", "--retry",
        "--retry-all-errors", "--retry-max-time", "--time-cond", "--upload", "--url-query", "--user",
        // Options of declined needs.
        "--follow-trusted", "--http09", "--http10", "--ignore-cl", "--post303", "--request-target", "--te",
    ]

    /// The names of the content codings that can be decoded, and of none.
    private static let known = Set(ContentDecoding.availableCodings + ["x-gzip", "identity", "none"])

    private static func names(in test: CurlCase) -> Set<String> {
        var names = Set(test.needs).union(test.client.operations.flatMap(\.options).map { "--" + $0.name })
        if names.contains("host-mapping"), test.hosts?.contains(where: isOtherAddress) == true {
            names.insert("mapped-address")
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

    /// Returns whether `authority` has an IP address that does not belong to the server.
    private static func isOtherAddress(_ authority: String) -> Bool {
        authority != "127.0.0.1:@PORT"
            && (authority.hasPrefix("[") || authority.prefix { $0 != ":" }.allSatisfy { $0.isNumber || $0 == "." })
    }

    /// Returns why the result differs from curl's, together with all differences; nil if there are none.
    static func difference(in test: CurlCase) -> CurlDifference? {
        var all = differences[test.id].map { [$0] } ?? []
        all += rules.filter { $0.applies(test) }.map(\.difference)
        // Both clients reject a response without a status line.
        if !test.needs.contains("http/0.9") || test.expectsSuccess { all += test.needs.compactMap { declined[$0] } }
        guard var difference = all.first else { return nil }
        difference.reason = all.map(\.reason).joined(separator: "; ")
        difference.deviations = all.reduce(into: []) { $0.formUnion($1.deviations) }
        return difference
    }
}

extension CurlCase {
    /// Whether curl's last operation succeeds.
    fileprivate var expectsSuccess: Bool { expect.outcome != "error" }

    /// The content codings of the responses.
    fileprivate var codings: [String] { replies.flatMap { $0.values(of: "content-encoding") } }
}
