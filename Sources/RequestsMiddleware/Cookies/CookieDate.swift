/// A parser for the date of a cookie, whose parts can have any order (RFC 6265 §5.1.1).
enum CookieDate {
    /// Returns the seconds since 1970 of the date in `text`; nil if a part is missing or the date does not exist.
    static func seconds(in text: some Collection<UInt8>) -> Int? {
        var parts = Parts()
        for token in text.split(whereSeparator: isDelimiter) { parts.read(token) }
        return parts.seconds
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private struct Parts {
        private var time: (hour: Int, minute: Int, second: Int)?
        private var day: Int?
        private var month: Int?
        private var year: Int?

        /// Reads a token as the first missing part that it can be.
        mutating func read(_ token: some Collection<UInt8>) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, 2...4) {
                year = found
            }
        }

        var seconds: Int? {
            guard let time, let day, let month, var year else { return nil }
            switch year {
            case 70...99: year += 1900
            case 0...69: year += 2000
            default: break
            }
            let date = CivilDate(year: year, month: month, day: day)
            guard year >= 1601, time.hour < 24, time.minute < 60, time.second < 60, date.exists else { return nil }
            return date.secondsSince1970 + time.hour * 3_600 + time.minute * 60 + time.second
        }

        /// Returns the number at the start of a token, if its number of digits is in `widths`.
        private static func number(_ token: some Collection<UInt8>, _ widths: ClosedRange<Int>) -> Int? {
            let digits = token.prefix(widths.upperBound + 1).prefix(while: isDigit)
            guard widths.contains(digits.count) else { return nil }
            return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        private static func time(_ token: some Collection<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
            var numbers: [Int] = []
            var remainder = token[...]
            while numbers.count < 3 {
                if !numbers.isEmpty {
                    guard remainder.first == UInt8(ascii: ":") else { return nil }
                    remainder = remainder.dropFirst()
                }
                guard let number = number(remainder, 1...2) else { return nil }
                numbers.append(number)
                remainder = remainder.drop(while: isDigit)
            }
            return (numbers[0], numbers[1], numbers[2])
        }

        private static func month(_ token: some Collection<UInt8>) -> Int? {
            let start = token.prefix(3).map(ASCIIFolding.folded)
            return months.firstIndex(of: start).map { $0 + 1 }
        }

        private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

        private static let months = [
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ].map { Array($0.utf8) }
    }
}
