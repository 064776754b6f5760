import Requests
import RequestsHTTP1
import RequestsPOSIX

extension Transfer {
    /// Sends as much as the connection accepts of a request without a body, or with one in memory.
    ///
    /// Returns the reason why it cannot continue; nil when sending has ended.
    mutating func sendAtOnce(_ head: [UInt8], _ body: Data) throws(RequestError) -> Pause? {
        var offset = written
        if let pause = try pushAtOnce(head, body, from: &offset) { return pause }
        hasSent = true
        isUploadComplete = written == head.count + body.count
        return nil
    }

    /// Sends the request.
    ///
    /// Sending ends early, without an error, if the final response arrives before the end of the body or the connection
    /// accepts no more: then the response comes first.
    mutating func send(_ head: [UInt8], _ payload: Payload, of request: PreparedRequest) async throws(RequestError) {
        hasSent = true
        var head = head
        if let time = request.continueTimeout, payload.length != 0 {
            guard try await push(head, Data()), try await isContinued(within: time) else { return }
            head = []
        }
        isUploadComplete =
            switch payload {
            case .none: try await push(head, Data())
            case .bytes(let data): try await push(head, data)
            case .file(let file, let range, let isWhole): try await push(head, file, range, isWhole)
            case .stream(let length?, let make): try await push(head, counted: length, make)
            case .stream(nil, let make): try await push(head, chunked: make, request.trailers)
            }
    }

    /// Sends two consecutive parts, the second of which counts as body; returns false if the upload ends here.
    mutating func push(_ prefix: [UInt8], _ part: Data) async throws(RequestError) -> Bool {
        var offset = 0
        while let pause = try pushAtOnce(prefix, part, from: &offset) { try await take(pause) }
        return offset == prefix.count + part.count
    }

    /// Sends as much of two consecutive parts, from `offset` on, as the connection accepts; returns the reason why it
    /// cannot continue, or nil at the end of both parts or of the upload.
    private mutating func pushAtOnce(
        _ prefix: [UInt8], _ part: Data, from offset: inout Int
    ) throws(RequestError) -> Pause? {
        while offset < prefix.count + part.count {
            if isFull {
                isFull = false
                if try hasResponse() { return nil }
            }
            if isBudgetSpent { return .yield }
            do throws(SystemError) {
                isFull = try !write(prefix, part, from: &offset)
            } catch {
                sendFailure = error
                return nil
            }
            if isFull {
                if try hasResponse() { return nil }
                return pauseWhileFull
            }
        }
        return nil
    }

    /// Writes once from two consecutive parts, from `offset` on; returns false if the connection accepts nothing now.
    private mutating func write(
        _ prefix: [UInt8], _ part: Data, from offset: inout Int
    ) throws(SystemError) -> Bool {
        guard case .bytes(let count) = try connection.write(prefix, part, from: offset) else { return false }
        let bodyBefore = max(0, offset - prefix.count)
        offset += count
        written += count
        reporter.addSent(max(0, offset - prefix.count) - bodyBefore)
        recordWork(count)
        return true
    }

    /// The wait while the connection accepts no more: until it does, or a response arrives.
    var pauseWhileFull: Pause { .wait(for: [.writing, .reading], until: timeLimits.betweenBytes, in: .sending) }

    /// Returns, without waiting, whether the final response has arrived; also true if nothing more can arrive.
    mutating func hasResponse() throws(RequestError) -> Bool {
        let result: TransferResult
        do throws(SystemError) {
            result = try connection.fill(isHead: true)
        } catch {
            sendFailure = error
            return true
        }
        switch result {
        case .wouldBlock: return false
        case .bytes: return try readHead()
        case .end: try receiveEnd()
        }
        return true
    }
}

// MARK: Streams

extension Transfer {
    private typealias Make = @Sendable () throws -> sending any RequestBody.Source

    /// Sends exactly `length` bytes.
    ///
    /// The chunk that completes them is held back until the source has ended, so that the server never takes the
    /// beginning of a longer body for the whole.
    private mutating func push(_ head: [UInt8], counted length: Int, _ make: Make) async throws(RequestError) -> Bool {
        // With a length of 0 the head is the whole request.
        guard length > 0 else { return try await push(head, empty: make) }
        guard try await push(head, Data()) else { return false }
        var source = try RequestError.wrapping(.bodyEncodingFailed, make)
        var remaining = length
        while let chunk = try await Self.next(of: &source) {
            remaining -= chunk.count
            if remaining == 0, try await Self.next(of: &source) != nil { remaining = -1 }
            guard remaining >= 0 else {
                throw Self.lengthMismatch("longer than", length)
            }
            guard try await push([], chunk) else { return false }
            if remaining == 0 { return true }
            if try hasResponse() { return false }
        }
        guard remaining == 0 else {
            throw Self.lengthMismatch("\(ErrorText.bytes(remaining)) shorter than", length)
        }
        return true
    }

    /// Sends a head that declares an empty body, after the source has ended without bytes.
    private mutating func push(_ head: [UInt8], empty make: Make) async throws(RequestError) -> Bool {
        var source = try RequestError.wrapping(.bodyEncodingFailed, make)
        guard try await Self.next(of: &source) == nil else {
            throw Self.lengthMismatch("longer than", 0)
        }
        return try await push(head, Data())
    }

    private static func lengthMismatch(_ comparison: String, _ length: Int) -> RequestError {
        RequestError(
            .bodyEncodingFailed, detail: "the body is \(comparison) its declared \(ErrorText.bytes(length))")
    }

    /// Sends chunks until the source ends (RFC 9112 §7.1); the last chunk and the trailers are sent only then.
    private mutating func push(
        _ head: [UInt8], chunked make: Make, _ trailers: PreparedRequest.Trailers?
    ) async throws(RequestError) -> Bool {
        guard try await push(head, Data()) else { return false }
        var source = try RequestError.wrapping(.bodyEncodingFailed, make)
        var encoder = ChunkEncoder()
        while let chunk = try await Self.next(of: &source) {
            var line: [UInt8] = []
            encoder.begin(chunk.count, in: &line)
            guard try await push(line, chunk) else { return false }
            if try hasResponse() { return false }
        }
        let fields = try trailers?.header() ?? .empty
        var end: [UInt8] = []
        do throws(WireError) {
            try encoder.end(trailers: fields, in: &end)
        } catch {
            throw RequestError(.bodyEncodingFailed, detail: error.description, underlying: error)
        }
        return try await push(end, Data())
    }

    /// Returns the next chunk that is not empty.
    private static func next(of source: inout any RequestBody.Source) async throws(RequestError) -> Data? {
        try await RequestError.wrapping(.bodyEncodingFailed) {
            while let chunk = try await source.next() {
                if !chunk.isEmpty { return chunk }
            }
            return nil
        }
    }
}
