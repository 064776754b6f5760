import Requests
import TestCorpora
import TestSupport
import Testing

@Suite("HTTPDate")
struct HTTPDateTests {
    @Test(
        "dates in the three formats are parsed, with names in any case, and other text is rejected",
        .rows("T-71", "PM-74"),
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Mon FEb 29 15:00:00 2016", 1_456_758_000),
            ("Monday, 29-Feb-16 15:00:00 GMT", 1_456_758_000), ("sUN, 06 nOV 1994 08:49:37 gmt", 784_111_777),
            (" Sun, 06 Nov 1994 08:49:37 GMT\t", 784_111_777), ("Thu, 31 Dec 1998 23:59:60 GMT", 915_148_800),
            ("Mon, 01 Jan 1900 00:00:00 GMT", -2_208_988_800), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("", nil), ("bob's yer uncle", nil), ("2016-01-02 03:04:05", nil), ("1457035967", nil),
            ("Sun, 06 Nov 1994 08:49:37 GMT x", nil), ("Sun, 6 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 8:49:37 GMT", nil), ("Sunday, 06 Nov 1994 08:49:37 GMT", nil),
            ("Sun, 06-Nov-94 08:49:37 GMT", nil), ("Sun Nov 6 08:49:37 1994", nil), ("Sun, 06 Nov 1994 08:49:37", nil),
            ("Sun, 29 Feb 1900 00:00:00 GMT", nil), ("Sun, 31 Dec 1899 00:00:00 GMT", nil),
            ("Sunda, 06-Nov-94 08:49:37 GMT", nil), ("Sun, 06 Nov 01994 08:49:37 GMT", nil),
        ] as [(String, Int?)])
    func reading(text: String, seconds: Int?) {
        let now = Date(timeIntervalSince1970: 1_785_542_400)
        #expect(HTTPDate(text, now: now)?.secondsSince1970 == seconds)
    }

    @Test("a two-digit year is at most 50 years in the future, whatever the day of the week", .rows("PM-74", "T-71"))
    func shortYears() throws {
        let now = try #require(HTTPDate("Sat, 01 Aug 2026 00:00:00 GMT")).date
        func year(_ text: String, _ now: Date) -> String? {
            HTTPDate(text, now: now).map { String($0.description.dropFirst(12).prefix(4)) }
        }
        #expect(year("Saturday, 01-Aug-76 00:00:00 GMT", now) == "2076")
        #expect(year("Saturday, 01-Aug-76 00:00:01 GMT", now) == "1976")
        // 2071 is 45 years in the future; 1971, when this day was a Friday, is more than 50 years ago.
        #expect(year("Friday, 01-Jan-71 00:00:00 GMT", now) == "2071")
        #expect(year("Thursday, 01-Jan-71 00:00:00 GMT", now) == "2071")
        #expect(year("Monday, 01-Jan-71 00:00:00 GMT", now) == "2071")
        #expect(year("Tuesday, 29-Feb-00 00:00:00 GMT", now) == "2000")
        let later = try #require(HTTPDate("Sun, 22 Nov 2026 00:00:00 GMT")).date
        for weekday in HTTPDateTests.weekdays {
            #expect(year("\(weekday), 01-Jan-77 00:00:00 GMT", later) == "1977", "\(weekday)")
            #expect(year("\(weekday), 22-Nov-76 00:00:00 GMT", later) == "2076", "\(weekday)")
            #expect(year("\(weekday), 22-Nov-76 00:00:01 GMT", later) == "1976", "\(weekday)")
        }
        let late = try #require(HTTPDate("Wed, 01 Jan 2098 00:00:00 GMT")).date
        #expect(year("Wednesday, 01-Jan-10 00:00:00 GMT", late) == "2110")
        #expect(year("Thursday, 29-Feb-00 00:00:00 GMT", late) == "2000")
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Cases where RFC 9110 §5.6.7 differs from the collection, which chooses 1971 by the day of the week.
    private static let departures = ["Friday, 01-Jan-71 00:00:00 GMT": 3_187_296_000]

    @Test("the day of the week is checked only on request", .rows("L14"))
    func weekday() {
        #expect(HTTPDate("Mon, 06 Nov 1994 08:49:37 GMT") != nil)
        #expect(HTTPDate("Mon, 06 Nov 1994 08:49:37 GMT", checkingWeekday: true) == nil)
        #expect(HTTPDate("Sun, 06 Nov 1994 08:49:37 GMT", checkingWeekday: true) != nil)
    }

    @Test("a printed date is parsed as the same instant and agrees with Foundation")
    func roundTrip() throws {
        var generator = SplitMix64(state: 71)
        for _ in 0..<2_000 {
            let date = HTTPDate(secondsSince1970: .random(in: -2_208_988_800...253_402_300_799, using: &generator))
            #expect(HTTPDate(date.description, checkingWeekday: true) == date)
            let words = date.description.split(separator: " ").map(String.init)
            let month = try #require(Self.months.firstIndex(of: words[2])) + 1
            let iso = "\(words[3])-\(month < 10 ? "0" : "")\(month)-\(words[1])T\(words[4])Z"
            #expect(iso == date.date.formatted(.iso8601) && words[5] == "GMT")
        }
    }

    @Test("instants that cannot be written become the nearest that can be written")
    func limits() {
        #expect(HTTPDate(Date(timeIntervalSince1970: .infinity)).description == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate(Date(timeIntervalSince1970: .nan)).description == "Mon, 01 Jan 1900 00:00:00 GMT")
        #expect(HTTPDate(secondsSince1970: .min).description == "Mon, 01 Jan 1900 00:00:00 GMT")
        #expect(HTTPDate(Date(timeIntervalSince1970: -0.5)).description == "Wed, 31 Dec 1969 23:59:59 GMT")
    }

    @Test(
        "the collected dates are parsed or rejected as expected", .rows("T-71"),
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func corpus() throws {
        let corpus = try #require(Corpora.httpDates)
        for item in corpus.mustParse {
            let now = item.now.map(Date.init(timeIntervalSince1970:)) ?? Date()
            let expected = Self.departures[item.input] ?? item.expect
            #expect(HTTPDate(item.input, now: now)?.secondsSince1970 == expected, "\(item.input)")
        }
        for item in corpus.format {
            #expect(HTTPDate(secondsSince1970: item.seconds).description == item.imfFixdate)
        }
        for item in corpus.mustNotParseStrict where item.input != "Sun, 06 nov 1994 08:49:37 GMT" {
            #expect(HTTPDate(item.input) == nil, "\(item.input)")
        }
        // Of what a lenient reader accepts, either nothing or the same instant is read.
        var read = 0
        for item in corpus.curlLenient {
            guard let date = HTTPDate(item.input), let expected = item.curl else { continue }
            #expect(date.secondsSince1970 == expected, "\(item.input)")
            read += 1
        }
        #expect(read > 2 && corpus.curlLenient.count > read)
    }
}
