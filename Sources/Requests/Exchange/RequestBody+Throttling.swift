extension RequestBody {
    /// Returns this body throttled: it is sent in packets of at most `packetSize` bytes with pauses of `delay` between
    /// them.
    ///
    /// - Parameters:
    ///   - packetSize: The maximum size of a packet in bytes; a value below 1 counts as 1.
    ///   - delay: The pause before each packet but the first.
    ///   - clock: The clock that measures the pauses.
    /// - Returns: The throttled body.
    /// - Throws: ``RequestError`` with ``RequestError/Reason/fileAccessFailed`` for a file that cannot be read.
    public func throttled(
        packetSize: Int = 16 << 10, delay: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(RequestError) -> RequestBody {
        if isNone { return self }
        let body = self
        return .stream(length: try measuredLength(), isReplayable: isReplayable) {
            ThrottledSource(
                source: try body.makeSource(), packetSize: max(1, packetSize),
                pause: { try await clock.sleep(for: delay) })
        }
    }
}

/// A source that splits chunks into packets and pauses between them.
private struct ThrottledSource: RequestBody.Source {
    var source: any RequestBody.Source
    let packetSize: Int
    let pause: @Sendable () async throws -> Void
    var remaining = Data()
    var isFirst = true

    mutating func next() async throws -> Data? {
        while remaining.isEmpty {
            guard let chunk = try await source.next() else { return nil }
            remaining = chunk
        }
        if !isFirst { try await pause() }
        isFirst = false
        let packet = remaining.prefix(packetSize)
        remaining = remaining.dropFirst(packetSize)
        return packet
    }
}
