/// When to ask again (RFC 9110 §10.2.3).
public enum RetryAfter: Hashable, Sendable {
    /// After so many seconds.
    case seconds(Int)
    /// At an instant.
    case date(HTTPDate)

    /// The longest time that is waited, and the largest number that is read.
    private static let limit = 1_000_000_000

    /// Reads a field's value; nil when it is neither a number of seconds nor a date.
    ///
    /// A larger number of seconds than 1,000,000,000 is read as 1,000,000,000, however many digits it has.
    public init?(fieldValue: String, now: Date = Date()) {
        var reader = FieldValueReader(fieldValue)
        reader.skipWhitespace()
        if let seconds = reader.number(limitedTo: Self.limit) {
            reader.skipWhitespace()
            guard reader.isAtEnd else { return nil }
            self = .seconds(seconds)
        } else if let date = HTTPDate(fieldValue, now: now) {
            self = .date(date)
        } else {
            return nil
        }
    }

    /// How long to wait from `now` on; never negative, and never more than 1,000,000,000 s.
    public func delay(from now: Date = Date()) -> Duration {
        switch self {
        case .seconds(let seconds): .seconds(min(max(seconds, 0), Self.limit))
        case .date(let date): .seconds(min(max(date.date.timeIntervalSince(now), 0), Double(Self.limit)))
        }
    }

    /// The value as it is sent.
    public var fieldValue: String {
        switch self {
        case .seconds(let seconds): String(max(seconds, 0))
        case .date(let date): date.description
        }
    }
}
