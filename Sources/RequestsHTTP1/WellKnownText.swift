/// Names of fields, and values of Content-Type, that are common enough to be kept as strings.
///
/// They are found by their exact bytes, as registered or in lower case, so that the spelling received is the spelling
/// given. Finding one is cheaper than making it where that needs memory, which is from 16 bytes on.
enum WellKnownText {
    private static let slots = 1024

    private static let table: [String] = {
        var table = [String](repeating: "", count: slots)
        for text in names + names.map({ $0.lowercased() }) + values {
            var slot = text.utf8.withContiguousStorageIfAvailable { slotOf($0.span, from: 0, to: $0.count) } ?? 0
            while !table[slot].isEmpty { slot = (slot + 1) & (slots - 1) }
            table[slot] = text
        }
        return table
    }()

    /// The text kept for the bytes from `start` to before `end`, or nil.
    static func find(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> String? {
        guard start >= 0, end &- start > 15, end <= bytes.count else { return nil }
        var slot = slotOf(bytes, from: start, to: end)
        while true {
            let candidate = table[slot]
            if candidate.isEmpty { return nil }
            if isEqual(candidate, bytes, from: start, to: end) { return candidate }
            slot = (slot &+ 1) & (slots &- 1)
        }
    }

    private static func slotOf(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
        let (first, middle) = (Int(bytes[start]), Int(bytes[start &+ (end &- start) &>> 1]))
        let last = Int(bytes[end &- 1])
        return (first &* 13 &+ middle &* 101 &+ last &* 211 &+ (end &- start) &* 29) & (slots &- 1)
    }

    private static func isEqual(_ text: String, _ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        guard text.utf8.count == end &- start else { return false }
        return text.utf8.withContiguousStorageIfAvailable { bytes.hasPrefix($0.span, from: start) } ?? false
    }

    private static let names = [
        "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
        "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age", "Content-Disposition",
        "Content-Encoding", "Content-Language", "Content-Location", "Content-Security-Policy", "If-Modified-Since",
        "If-Unmodified-Since", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
        "Strict-Transport-Security", "Transfer-Encoding", "WWW-Authenticate", "X-Content-Type-Options",
        "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-XSS-Protection",
    ]

    private static let values = [
        "application/json", "application/json; charset=utf-8", "application/json; charset=UTF-8",
        "application/json;charset=UTF-8", "application/json;charset=utf-8", "application/octet-stream",
        "application/problem+json", "application/x-www-form-urlencoded", "text/event-stream",
        "text/html; charset=UTF-8", "text/html; charset=utf-8", "text/plain; charset=utf-8",
        "text/plain;charset=UTF-8",
    ]
}
