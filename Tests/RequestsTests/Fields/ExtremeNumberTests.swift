import Requests
import TestSupport
import Testing

/// Numbers from a peer: none causes a trap, and none is read as another number.
@Suite("Numbers from peers")
struct ExtremeNumberTests {
    /// Texts that a peer may send for a number, and the number if `Int` can represent it.
    static let numbers: [(text: String, value: Int?)] = [
        ("0", 0), ("1", 1), ("-1", nil), ("+1", nil), ("9223372036854775806", .max - 1),
        ("9223372036854775807", .max), ("9223372036854775808", nil), ("18446744073709551615", nil),
        ("18446744073709551616", nil), (String(repeating: "9", count: 400), nil),
        (String(repeating: "0", count: 400) + "7", 7), ("-9223372036854775808", nil), ("1e3", nil), ("0x10", nil),
        ("", nil), ("\u{0661}", nil), ("1\u{301}", nil),
    ]

    /// Returns whether `text` consists of digits only.
    private static func isNumber(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } }

    @Test(
        "a number in Range and Content-Range is exact, or the field is malformed", .rows("R-9", "R-75"),
        arguments: numbers)
    func ranges(text: String, value: Int?) {
        #expect(ByteRange.ranges(in: "bytes=\(text)-") == (text.isEmpty ? nil : value.map { [.from($0)] }))
        #expect(ByteRange.ranges(in: "bytes=-\(text)") == value.map { [.suffix($0)] })
        if !text.isEmpty { #expect(ByteRange.ranges(in: "bytes=0-\(text)") == value.map { [.bytes(0...$0)] }) }
        // A last byte at Int.max belongs to a length that Int cannot represent.
        let last = value.flatMap { $0 < .max ? $0 : nil }
        #expect(ContentRange(fieldValue: "bytes 0-\(text)/*")?.bytes == last.map { 0...$0 })
        #expect(ContentRange(fieldValue: "bytes \(text)-\(text)/*")?.bytes == last.map { $0...$0 })
        #expect(ContentRange(fieldValue: "bytes */\(text)")?.length == value)
        let whole = value.flatMap { $0 > 0 ? $0 : nil }
        #expect(ContentRange(fieldValue: "bytes 0-0/\(text)")?.length == whole)
        if let bytes = ContentRange(fieldValue: "bytes 0-\(text)/*")?.bytes {
            #expect(bytes.count == bytes.upperBound + 1)
        }
    }

    @Test("large delays in Cache-Control and Retry-After are limited", .rows("R-75"), arguments: numbers)
    func delays(text: String, value: Int?) throws {
        let isNumber = Self.isNumber(text)
        for name in ["max-age", "s-maxage", "max-stale", "min-fresh", "stale-if-error", "stale-while-revalidate"] {
            let seconds = CacheControl(fieldValue: "\(name)=\(text)").seconds(of: name)
            #expect(seconds == (isNumber ? min(value ?? .max, 1 << 31) : 0), "\(name)")
        }
        let retryAfter = RetryAfter(fieldValue: text)
        #expect(retryAfter == (isNumber ? .seconds(min(value ?? .max, 1_000_000_000)) : nil))
        let extremes = [Double.infinity, -.infinity, .nan].map(Date.init(timeIntervalSince1970:))
        for now in [Date.distantPast, Date(), .distantFuture] + extremes {
            let date = RetryAfter.date(HTTPDate(Date(timeIntervalSince1970: 0)))
            for retryAfter in [.seconds(.min), .seconds(.max), date, retryAfter ?? .seconds(0)] {
                #expect((.zero...(.seconds(1_000_000_000))).contains(retryAfter.delay(from: now)))
            }
        }
    }

    @Test(
        "ports, addresses and dates reject numbers out of their range", .rows("R-2", "T-71", "R-75"), arguments: numbers
    )
    func parts(text: String, value: Int?) throws {
        let port = Self.isNumber(text) ? value.flatMap { UInt16(exactly: $0) } : nil
        if let port, port > 0 {
            #expect(try TargetURI("http://a:\(text)/").port == Int(port))
        } else if !text.isEmpty, text != "0" {
            #expect(throws: RequestError.InvalidRequest.self) { try TargetURI("http://a:\(text)/") }
        }
        #expect(IPAddressText.isIPv4("1.2.3.\(text)"[...]) == (text == "0" || text == "1"))
        // A group is hexadecimal, so 1e3 is valid.
        let isGroup = text.utf8.count < 5 && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "e") }
        #expect((IPAddressText.canonicalIPv6("::\(text)"[...]) != nil) == isGroup)
        for date in [
            "Sun, \(text) Nov 1994 08:49:37 GMT", "Sun, 06 Nov \(text) 08:49:37 GMT",
            "Sun, 06 Nov 1994 \(text):49:37 GMT",
            "Sun, 06 Nov 1994 08:49:\(text) GMT", "Sunday, 06-Nov-\(text) 08:49:37 GMT", "Sun Nov  6 08:49:37 \(text)",
        ] { #expect(HTTPDate(date) == nil, "\(date)") }
    }

    @Test(
        "ISO 8601 dates reject numbers out of range and accept any fraction of a second", .rows("R-75"),
        arguments: numbers)
    func isoDates(text: String, value: Int?) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .flexibleISO8601
        func date(_ text: String) -> Date? {
            try? decoder.decode([Date].self, from: Data("[\"\(text)\"]".utf8)).first
        }
        for text in ["\(text)-01-01", "2026-\(text)-01", "2026-01-\(text)", "2026-01-01T\(text):00"] {
            #expect(date(text) == nil, "\(text)")
        }
        guard !text.isEmpty else { return }
        #expect(date("2026-01-01T00:00+\(text)00") == nil, "\(text)")
        if Self.isNumber(text) {
            let fraction = try #require(date("1970-01-01T00:00:00.\(text)Z")).timeIntervalSince1970
            #expect((0.0...1.0).contains(fraction))
        }
        #expect(date("0000-01-01T00:00:00+23:59") != nil && date("9999-12-31T23:59:60-23:59") != nil)
    }

    @Test("a date at any instant can be written and parsed", .rows("T-71", "R-75"))
    func instants() {
        for seconds in [Int.min, .min + 1, -1, 0, 1, .max - 1, .max] {
            #expect(HTTPDate(HTTPDate(secondsSince1970: seconds).description) != nil)
        }
        for time in [
            -Double.infinity, -.greatestFiniteMagnitude, -1e18, 1e18, .greatestFiniteMagnitude, .infinity, .nan,
        ] {
            let now = Date(timeIntervalSince1970: time)
            _ = HTTPDate("Sunday, 06-Nov-94 08:49:37 GMT", now: now)
            #expect(HTTPDate(HTTPDate(now).description) != nil)
        }
    }

    @Test(
        "the number reader returns nil and does not advance if a number is too large", .rows("R-75"), arguments: numbers
    )
    func reader(text: String, value: Int?) {
        var reader = FieldValueReader(text)
        let number = reader.number()
        let digits = text.utf8.prefix { 0x30...0x39 ~= $0 }
        #expect(number == Int(String(Substring(digits))))
        #expect(reader.position == (number == nil ? 0 : digits.count))
    }
}
