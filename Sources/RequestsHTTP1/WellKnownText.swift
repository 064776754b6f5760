/// Names of fields, and values of Content-Type, that are common enough to be kept as strings.
///
/// They are found by their exact bytes, as registered or in lower case, so that the spelling received is the spelling
/// given; finding one is cheaper than making it.
struct WellKnownText: Sendable {
    static let shared = WellKnownText()

    private struct Entry {
        var text = ""
        var count = 0
        /// The first and the last eight bytes, which is all there is of up to 16.
        var ends: (UInt64, UInt64) = (0, 0)
    }

    private static var slots: Int { 1024 }

    /// A hash table with open addressing; an entry without bytes is none.
    private let table: [Entry]

    private init() {
        var table = [Entry](repeating: Entry(), count: Self.slots)
        for text in Self.names + Self.names.map({ $0.lowercased() }) + Self.values {
            let bytes = Array(text.utf8)
            let ends = bytes.span.ends(from: 0, to: bytes.count)
            var slot = Self.slot(of: ends, count: bytes.count)
            while table[slot].count > 0 { slot = (slot + 1) & (Self.slots - 1) }
            table[slot] = Entry(text: text, count: bytes.count, ends: ends)
        }
        self.table = table
    }

    /// The text kept for the bytes from `start` to before `end`, or nil.
    func find(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> String? {
        guard start >= 0, start < end, end <= bytes.count else { return nil }
        let ends = bytes.ends(from: start, to: end)
        var slot = Self.slot(of: ends, count: end &- start)
        while table[slot].count > 0 {
            if table[slot].count == end &- start, table[slot].ends == ends {
                let text = table[slot].text
                if end &- start <= 16 || Self.isEqual(text, bytes, from: start) { return text }
            }
            slot = (slot &+ 1) & (Self.slots &- 1)
        }
        return nil
    }

    private static func slot(of ends: (UInt64, UInt64), count: Int) -> Int {
        let sum = (ends.0 &+ ends.1 &* 31 &+ UInt64(truncatingIfNeeded: count)) &* 0x9E37_79B9_7F4A_7C15
        return Int(truncatingIfNeeded: sum &>> 54)
    }

    private static func isEqual(_ text: String, _ bytes: Span<UInt8>, from start: Int) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { bytes.hasPrefix($0.span, from: start) } ?? false
    }

    private static let names = [
        "Accept", "Accept-Encoding", "Accept-Language", "Accept-Ranges", "Access-Control-Allow-Credentials",
        "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin",
        "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Age", "Allow", "Alt-Svc", "Authorization",
        "Cache-Control", "Connection", "Content-Disposition", "Content-Encoding", "Content-Language",
        "Content-Length", "Content-Location", "Content-Range", "Content-Security-Policy", "Content-Type", "Cookie",
        "Date", "ETag", "Expect", "Expires", "Host", "Idempotency-Key", "If-Match", "If-Modified-Since",
        "If-None-Match", "If-Unmodified-Since", "Keep-Alive", "Last-Modified", "Link", "Location", "Origin", "Pragma",
        "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Range", "Referer", "Referrer-Policy",
        "Retry-After", "Server", "Set-Cookie", "Strict-Transport-Security", "TE", "Trailer", "Transfer-Encoding",
        "Upgrade", "User-Agent", "Vary", "Via", "WWW-Authenticate", "X-Content-Type-Options", "X-Forwarded-For",
        "X-Frame-Options", "X-Powered-By", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
        "X-Request-Id", "X-XSS-Protection",
    ]

    private static let values = [
        "application/json", "application/json; charset=utf-8", "application/json; charset=UTF-8",
        "application/json;charset=UTF-8", "application/json;charset=utf-8", "application/octet-stream",
        "application/problem+json", "application/x-www-form-urlencoded", "text/event-stream",
        "text/html; charset=UTF-8", "text/html; charset=utf-8", "text/plain; charset=utf-8",
        "text/plain;charset=UTF-8",
    ]
}
