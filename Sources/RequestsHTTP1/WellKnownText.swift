/// Names and values of fields that are too long for a string without an allocation and common enough to be kept.
///
/// A string of at most 15 bytes is stored in place; these are the longer ones. They are found by their exact bytes,
/// so that the spelling received is the spelling given.
enum WellKnownText {
    private static let shortest = 16
    private static let slots = 256

    private static let table: [String] = {
        var table = [String](repeating: "", count: slots)
        for text in names + names.map({ $0.lowercased() }) + values {
            var slot = text.utf8.withContiguousStorageIfAvailable { slotOf($0.span, from: 0, to: $0.count) } ?? 0
            while !table[slot].isEmpty { slot = (slot + 1) % slots }
            table[slot] = text
        }
        return table
    }()

    /// The text kept for the bytes from `start` to before `end`, or nil.
    static func find(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> String? {
        guard end &- start >= shortest else { return nil }
        var slot = slotOf(bytes, from: start, to: end)
        while true {
            let candidate = table[slot]
            if candidate.isEmpty { return nil }
            if isEqual(candidate, bytes, from: start, to: end) { return candidate }
            slot = (slot &+ 1) % slots
        }
    }

    private static func slotOf(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int {
        let count = end &- start
        let sample = Int(bytes[start]) &* 7 &+ Int(bytes[start &+ count / 2]) &* 31 &+ Int(bytes[end &- 2]) &* 3
        return (sample &+ count) % slots
    }

    private static func isEqual(_ text: String, _ bytes: Span<UInt8>, from start: Int, to end: Int) -> Bool {
        guard text.utf8.count == end &- start else { return false }
        return text.utf8.withContiguousStorageIfAvailable { storage in
            var position = start
            for byte in storage {
                guard byte == bytes[position] else { return false }
                position &+= 1
            }
            return true
        } ?? false
    }

    private static let names = [
        "Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
        "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
        "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location", "Content-Security-Policy",
        "Idempotency-Key", "If-Modified-Since", "If-Unmodified-Since", "Proxy-Authenticate", "Proxy-Authorization",
        "Proxy-Connection", "Referrer-Policy", "Strict-Transport-Security", "Transfer-Encoding", "WWW-Authenticate",
        "X-Content-Type-Options", "X-Forwarded-For", "X-Frame-Options", "X-RateLimit-Limit", "X-RateLimit-Remaining",
        "X-RateLimit-Reset", "X-XSS-Protection",
    ].filter { $0.utf8.count >= shortest }

    private static let values = [
        "application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
        "application/json;charset=utf-8", "application/octet-stream", "application/problem+json",
        "application/x-www-form-urlencoded", "text/event-stream", "text/html; charset=UTF-8",
        "text/html; charset=utf-8", "text/plain; charset=utf-8", "max-age=31536000", "private, max-age=0",
        "no-cache, no-store, must-revalidate", "gzip, deflate, br",
    ]
}
