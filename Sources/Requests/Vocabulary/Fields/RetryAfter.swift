/// The time after which a client may repeat a request (RFC 9110 §10.2.3).
public enum RetryAfter: Hashable, Sendable {
    /// A delay in seconds.
    case seconds(Int)
    /// A date.
    case date(HTTPDate)

    /// The maximum delay and the largest number that is parsed, in seconds (decision 0022).
    private static let limit = 1_000_000_000

    /// Creates a value from a field value, or nil if it is neither a number of seconds nor a date.
    ///
    /// - Parameters:
    ///   - fieldValue: The value. A number above 1,000,000,000 counts as 1,000,000,000, however many digits it has.
    ///   - now: The current time, which determines the century of two-digit years.
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

    /// Returns the delay from `now`, between 0 and 1,000,000,000 s; 0 if `now` is not a number.
    public func delay(from now: Date = Date()) -> Duration {
        switch self {
        case .seconds(let seconds): .seconds(min(max(seconds, 0), Self.limit))
        case .date(let date):
            // NaN is not greater than 0; a conversion of it would trap.
            switch date.date.timeIntervalSince(now) {
            case let seconds where seconds > 0: .seconds(min(seconds, Double(Self.limit)))
            default: .zero
            }
        }
    }

    /// The value as it is sent; a negative number of seconds is sent as 0.
    public var fieldValue: String {
        switch self {
        case .seconds(let seconds): String(max(seconds, 0))
        case .date(let date): date.description
        }
    }
}
