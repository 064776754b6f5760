extension RequestBody {
    /// This body sent slowly: at most `packetSize` bytes, then a pause of `delay`, and so on.
    ///
    /// No pause comes before the first packet. A packet size below 1 counts as 1.
    ///
    /// - Throws: ``RequestError`` with ``InvalidRequest/unreadableFile`` for a file that cannot be read.
    public func throttled(
        packetSize: Int = 16 << 10, delay: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(RequestError) -> RequestBody {
        if isNone { return self }
        let body = self
        return .stream(length: try measuredLength(), replayable: isReplayable) {
            ThrottledSource(
                source: try body.makeSource(), packetSize: max(1, packetSize),
                pause: { try await clock.sleep(for: delay) })
        }
    }
}

/// Cuts chunks into packets and pauses between them.
private struct ThrottledSource: RequestBodySource {
    var source: any RequestBodySource
    let packetSize: Int
    let pause: @Sendable () async throws -> Void
    var rest = Data()
    var isFirst = true

    mutating func next() async throws -> Data? {
        while rest.isEmpty {
            guard let chunk = try await source.next() else { return nil }
            rest = chunk
        }
        if !isFirst { try await pause() }
        isFirst = false
        let packet = rest.prefix(packetSize)
        rest = rest.dropFirst(packetSize)
        return packet
    }
}
