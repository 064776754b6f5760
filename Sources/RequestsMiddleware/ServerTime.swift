extension Header {
    /// The first value of Age, in seconds; 0 if it is not a whole number, which is ignored (RFC 9111 §5.1).
    var receivedAge: Int {
        guard let value = values(of: .age).first else { return 0 }
        var reader = FieldValueReader(value)
        reader.skipWhitespace()
        let seconds = reader.number(limitedTo: 1 << 31) ?? 0
        reader.skipWhitespace()
        return reader.isAtEnd || reader.isAt(",") ? seconds : 0
    }

    /// Returns the time at the server when a response arrived, by its Date and its Age, or `now` if it has no Date.
    ///
    /// Dates that a server sends are compared with it, because the clock of this machine may be wrong.
    func serverTime(at now: Date) -> Date {
        date(of: .date, now: now)?.date.addingTimeInterval(Double(receivedAge)) ?? now
    }
}
