/// A date and time of HTTP, in whole seconds and in GMT (RFC 9110 §5.6.7).
///
/// The year is from 1900 to 9999, because RFC 5322 §3.3 begins in 1900 and years have four digits.
public struct HTTPDate: Hashable, Sendable {
    /// The seconds since 1970-01-01T00:00:00Z, without leap seconds.
    package let secondsSince1970: Int

    /// Creates a date from the seconds since 1970-01-01T00:00:00Z, limited to the years 1900 to 9999.
    package init(secondsSince1970 seconds: Int) {
        secondsSince1970 = min(max(seconds, Self.earliest), Self.latest)
    }

    /// Creates a date from Foundation's type, rounded down to a second and limited to the years 1900 to 9999.
    public init(_ date: Date) {
        let seconds = date.timeIntervalSince1970.rounded(.down)
        // The conversion to `Int` traps for infinity and NaN; NaN becomes the earliest date.
        let isInRange = seconds > Double(Self.earliest) && seconds < Double(Self.latest)
        self.init(secondsSince1970: isInRange ? Int(seconds) : seconds > 0 ? Self.latest : Self.earliest)
    }

    /// The date as Foundation's type.
    public var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }

    private static let earliest = CivilDate(year: 1900, month: 1, day: 1).secondsSince1970
    private static let latest = CivilDate(year: 9999, month: 12, day: 31).secondsSince1970 + 86_399
}

extension HTTPDate: Comparable, CustomStringConvertible {
    /// Returns whether `left` is earlier than `right`.
    public static func < (left: Self, right: Self) -> Bool {
        left.secondsSince1970 < right.secondsSince1970
    }

    /// The date in the only form that senders may use: `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let days = secondsSince1970.dividedRoundingDown(by: 86_400)
        let second = secondsSince1970 - days * 86_400
        let date = CivilDate(daysSince1970: days)
        let names = (Self.weekdays[CivilDate.weekday(ofDay: days)].prefix(3), Self.months[date.month - 1])
        let time = [second / 3_600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(names.0), \(Self.padded(date.day, 2)) \(names.1) \(Self.padded(date.year, 4)) \(time) GMT"
    }

    static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.count, 0)) + digits
    }
}

/// A day of the Gregorian calendar.
package struct CivilDate {
    package var year: Int
    package var month: Int
    package var day: Int

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// Creates the day that is `days` after 1970-01-01.
    ///
    /// The calculation uses 400-year cycles of 146,097 days and years that begin in March, so that a leap day is the
    /// last of its year. 719,468 is the number of days from 0000-03-01 to 1970-01-01.
    package init(daysSince1970 days: Int) {
        let shifted = days + 719_468
        let cycle = shifted.dividedRoundingDown(by: 146_097)
        let dayOfCycle = shifted - cycle * 146_097
        let yearOfCycle = (dayOfCycle - dayOfCycle / 1_460 + dayOfCycle / 36_524 - dayOfCycle / 146_096) / 365
        let dayOfYear = dayOfCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfCycle + cycle * 400 + (month <= 2 ? 1 : 0)
    }

    /// The number of days since 1970-01-01.
    var daysSince1970: Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let cycle = shiftedYear.dividedRoundingDown(by: 400)
        let yearOfCycle = shiftedYear - cycle * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return cycle * 146_097 + yearOfCycle * 365 + yearOfCycle / 4 - yearOfCycle / 100 + dayOfYear - 719_468
    }

    /// The seconds from 1970-01-01T00:00:00Z to the beginning of the day.
    package var secondsSince1970: Int { daysSince1970 * 86_400 }

    /// Whether the year has the month and the month has the day.
    package var exists: Bool {
        let isLeap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return lengths.indices.contains(month - 1) && (1...lengths[month - 1]).contains(day)
    }

    /// Returns the weekday of a day counted from 1970-01-01; 0 is Sunday.
    static func weekday(ofDay days: Int) -> Int {
        // 1970-01-01 was a Thursday.
        let day = (days + 4) % 7
        return day < 0 ? day + 7 : day
    }
}

extension Int {
    /// Returns the quotient rounded toward negative infinity; `divisor` must be positive.
    fileprivate func dividedRoundingDown(by divisor: Int) -> Int {
        self >= 0 ? self / divisor : (self + 1) / divisor - 1
    }
}
