/// A lenient parser for the dates and times of ISO 8601 and RFC 3339.
enum ISO8601Text {
    /// Returns whether `date` is within the years 1 to 9999.
    static func canExpress(_ date: Date) -> Bool {
        let seconds = date.timeIntervalSince1970
        return seconds.isFinite && seconds >= -62_135_596_800 && seconds < 253_402_300_800
    }

    /// Returns the instant of `text`, or nil if it is not an ISO 8601 date.
    ///
    /// - Parameter text: A date, optionally followed by a time and a zone.
    ///   - A date without a time is its first second.
    ///   - `T`, `t` or a space separates date and time.
    ///   - Seconds are optional and may have a fraction after a point or comma; a leap second is the next second.
    ///   - The zone is `Z`, `z`, `+01:00`, `+0100` or `+01`; without a zone the time is in GMT.
    ///   - Hyphens and colons are optional.
    /// - Returns: The instant, or nil.
    static func date(_ text: String) -> Date? {
        var reader = FieldValueReader(text)
        guard let year = digits(4, &reader) else { return nil }
        let hasHyphens = reader.skip("-")
        guard let month = digits(2, &reader), reader.skip("-") == hasHyphens, let day = digits(2, &reader) else {
            return nil
        }
        let date = CivilDate(year: year, month: month, day: day)
        guard date.exists else { return nil }
        let start = Double(date.secondsSince1970)
        if reader.isAtEnd { return Date(timeIntervalSince1970: start) }
        guard reader.skip("T") || reader.skip("t") || reader.skip(" ") else { return nil }
        guard let time = time(&reader), let offset = zone(&reader), reader.isAtEnd else { return nil }
        return Date(timeIntervalSince1970: start + time - offset)
    }

    /// Reads a number of exactly `count` digits.
    private static func digits(_ count: Int, _ reader: inout FieldValueReader) -> Int? {
        let start = reader.position
        var value = 0
        while reader.position - start < count {
            guard let byte = reader.byte, byte &- 0x30 < 10 else { return nil }
            value = value * 10 + Int(byte - 0x30)
            reader.position += 1
        }
        return value
    }

    /// Reads a time and returns the seconds since midnight.
    private static func time(_ reader: inout FieldValueReader) -> Double? {
        guard let hour = digits(2, &reader), hour <= 24 else { return nil }
        let hasColons = reader.skip(":")
        guard let minute = digits(2, &reader), minute < 60 else { return nil }
        var second = 0
        var fraction = 0.0
        if hasColons ? reader.skip(":") : reader.byte.map({ $0 &- 0x30 < 10 }) ?? false {
            guard let value = digits(2, &reader), value <= 60 else { return nil }
            second = value
            if reader.skip(".") || reader.skip(",") {
                guard let digits = reader.text(while: { $0 &- 0x30 < 10 }) else { return nil }
                // A `Double` has at most 17 significant decimal digits.
                fraction = Double("0.\(digits.prefix(17))") ?? 0
            }
        }
        // 24:00 is the end of the day.
        guard hour < 24 || (minute == 0 && second == 0 && fraction == 0) else { return nil }
        return Double(hour * 3_600 + minute * 60 + second) + fraction
    }

    /// Reads a zone and returns its offset from GMT in seconds.
    private static func zone(_ reader: inout FieldValueReader) -> Double? {
        if reader.isAtEnd || reader.skip("Z") || reader.skip("z") { return 0 }
        let isNegative = reader.skip("-")
        guard isNegative || reader.skip("+"), let hours = digits(2, &reader), hours < 24 else { return nil }
        var minutes = 0
        if reader.skip(":") || !reader.isAtEnd {
            guard let value = digits(2, &reader), value < 60 else { return nil }
            minutes = value
        }
        return Double((hours * 60 + minutes) * 60) * (isNegative ? -1 : 1)
    }
}

extension JSONDecoder.DateDecodingStrategy {
    /// A strategy that decodes ISO 8601 dates with or without a time, seconds, a fraction and a zone.
    public static var flexibleISO8601: JSONDecoder.DateDecodingStrategy {
        .custom { decoder in
            let container = try decoder.singleValueContainer()
            let text = try container.decode(String.self)
            guard let date = ISO8601Text.date(text) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an ISO 8601 date")
            }
            return date
        }
    }
}
