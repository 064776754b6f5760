extension HTTPDate {
    /// Creates a date from text in one of the three forms that a recipient must accept (RFC 9110 §5.6.7).
    ///
    /// The forms are `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    /// Names are compared without regard to ASCII case, and white space around the text is ignored. A two-digit year
    /// is the latest year with these digits in which the day exists and that is at most 50 years after `now`,
    /// regardless of the day of the week. A leap second counts as the next second. For all other texts, the result is
    /// nil.
    ///
    /// - Parameters:
    ///   - text: The date as a field value.
    ///   - now: The current time, which determines the century of two-digit years.
    ///   - checkingWeekday: Whether the result is nil if the day of the week does not match the date. The default is
    ///     false, because recipients ignore the day of the week.
    public init?(_ text: some StringProtocol, now: Date = Date(), checkingWeekday: Bool = false) {
        var reader = FieldValueReader(text)
        reader.skipWhitespace()
        guard let fields = Parts(&reader) else { return nil }
        reader.skipWhitespace()
        guard reader.isAtEnd, let date = fields.date(now: HTTPDate(now)) else { return nil }
        if checkingWeekday, CivilDate.weekday(ofDay: date.daysSince1970) != fields.weekday { return nil }
        secondsSince1970 = date.secondsSince1970 + fields.secondOfDay
    }

    /// The parts of a date, whichever of the three forms it has.
    private struct Parts {
        var weekday = 0
        var day = 0
        var month = 0
        var year = 0
        var hasShortYear = false
        var secondOfDay = 0

        init?(_ reader: inout FieldValueReader) {
            guard let name = reader.text(while: { ASCIIFolding.folded($0) &- 0x61 < 26 }) else { return nil }
            let isLong = name.utf8.count > 3
            let index = HTTPDate.weekdays.firstIndex { day in
                ASCIIFolding.areEqual(isLong ? day : String(day.prefix(3)), name)
            }
            guard let index else { return nil }
            weekday = index
            let isRead: Bool
            if !reader.skip(",") {
                isRead = !isLong && readAsctime(&reader)
            } else {
                isRead = isLong ? readRFC850(&reader) : readFixdate(&reader)
            }
            guard isRead else { return nil }
        }

        private mutating func readFixdate(_ reader: inout FieldValueReader) -> Bool {
            reader.skip(" ") && Self.read(&day, 2, &reader) && reader.skip(" ") && readMonth(&reader)
                && reader.skip(" ") && Self.read(&year, 4, &reader) && reader.skip(" ") && readTime(&reader)
                && readZone(&reader)
        }

        private mutating func readRFC850(_ reader: inout FieldValueReader) -> Bool {
            hasShortYear = true
            return reader.skip(" ") && Self.read(&day, 2, &reader) && reader.skip("-") && readMonth(&reader)
                && reader.skip("-") && Self.read(&year, 2, &reader) && reader.skip(" ") && readTime(&reader)
                && readZone(&reader)
        }

        private mutating func readAsctime(_ reader: inout FieldValueReader) -> Bool {
            guard reader.skip(" "), readMonth(&reader), reader.skip(" ") else { return false }
            let width = reader.skip(" ") ? 1 : 2
            return Self.read(&day, width, &reader) && reader.skip(" ") && readTime(&reader) && reader.skip(" ")
                && Self.read(&year, 4, &reader)
        }

        private mutating func readMonth(_ reader: inout FieldValueReader) -> Bool {
            let name = reader.text { ASCIIFolding.folded($0) &- 0x61 < 26 } ?? ""
            month = (HTTPDate.months.firstIndex { ASCIIFolding.areEqual($0, name) } ?? -1) + 1
            return month > 0
        }

        private mutating func readTime(_ reader: inout FieldValueReader) -> Bool {
            var (hour, minute, second) = (0, 0, 0)
            guard
                Self.read(&hour, 2, &reader), reader.skip(":"), Self.read(&minute, 2, &reader), reader.skip(":"),
                Self.read(&second, 2, &reader)
            else { return false }
            secondOfDay = hour * 3_600 + minute * 60 + second
            return hour < 24 && minute < 60 && second <= 60
        }

        private func readZone(_ reader: inout FieldValueReader) -> Bool {
            reader.skip(" ")
                && ASCIIFolding.areEqual(reader.text { ASCIIFolding.folded($0) &- 0x61 < 26 } ?? "", "GMT")
        }

        /// Reads a number of exactly `width` digits.
        private static func read(_ number: inout Int, _ width: Int, _ reader: inout FieldValueReader) -> Bool {
            let start = reader.position
            guard let value = reader.number() else { return false }
            number = value
            return reader.position - start == width
        }

        /// Returns the day, or nil if it does not exist.
        func date(now: HTTPDate) -> CivilDate? {
            guard hasShortYear else {
                let date = CivilDate(year: year, month: month, day: day)
                return date.exists && year >= 1900 ? date : nil
            }
            let days = Int((Double(now.secondsSince1970) / 86_400).rounded(.down))
            var limit = CivilDate(daysSince1970: days)
            limit.year += 50
            let latest = limit.secondsSince1970 + now.secondsSince1970 - days * 86_400
            let century = limit.year / 100 * 100
            // The day of the week does not count: it could only select a date more than 50 years ago (decision 0022).
            return [century, century - 100, century - 200].lazy.map { century in
                CivilDate(year: century + year, month: month, day: day)
            }.first { $0.exists && $0.secondsSince1970 + secondOfDay <= latest }
        }
    }
}
