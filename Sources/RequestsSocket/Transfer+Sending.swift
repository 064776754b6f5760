import Requests
import RequestsHTTP1
import RequestsPOSIX

extension Transfer {
    /// Sends what the connection takes at once of a request whose body, if it has one, is in memory; why it cannot go
    /// on, nil when sending is over.
    mutating func sendAtOnce(_ head: [UInt8], _ body: Data) throws(RequestError) -> Pause? {
        var offset = written
        if let pause = try pushAtOnce(head, body, from: &offset) { return pause }
        hasSent = true
        isUploadComplete = written == head.count + body.count
        return nil
    }

    /// Sends the request.
    ///
    /// It ends early, without an error, when the final answer comes before the body's end or the connection takes no
    /// more: then what the server had to say comes first.
    mutating func send(_ head: [UInt8], _ payload: Payload, of request: PreparedRequest) async throws(RequestError) {
        hasSent = true
        var head = head
        if let time = request.continueWait, payload.length != 0 {
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

    /// Sends two parts that follow each other, the second of which counts as body; false when the upload ends here.
    mutating func push(_ prefix: [UInt8], _ part: Data) async throws(RequestError) -> Bool {
        var offset = 0
        while let pause = try pushAtOnce(prefix, part, from: &offset) { try await take(pause) }
        return offset == prefix.count + part.count
    }

    /// Sends what the connection takes at once of two parts, from `offset` on; why it cannot go on, nil at the end of
    /// both, or of the upload.
    private mutating func pushAtOnce(
        _ prefix: [UInt8], _ part: Data, from offset: inout Int
    ) throws(RequestError) -> Pause? {
        while offset < prefix.count + part.count {
            if isFull {
                isFull = false
                if try hasAnswer() { return nil }
            }
            if isTired { return .rest }
            do throws(SystemError) {
                isFull = try !write(prefix, part, from: &offset)
            } catch {
                sendFailure = error
                return nil
            }
            if isFull {
                if try hasAnswer() { return nil }
                return whileFull
            }
        }
        return nil
    }

    /// Writes once of two parts that follow each other, from `offset` on; false when the connection takes nothing for
    /// now.
    private mutating func write(
        _ prefix: [UInt8], _ part: Data, from offset: inout Int
    ) throws(SystemError) -> Bool {
        guard case .bytes(let count) = try connection.write(prefix, part, from: offset) else { return false }
        let bodyBefore = max(0, offset - prefix.count)
        offset += count
        written += count
        reporter.addSent(max(0, offset - prefix.count) - bodyBefore)
        work(count)
        return true
    }

    /// What to wait for while the connection takes no more: that it does, or an answer.
    var whileFull: Pause { .wait(for: [.writing, .reading], until: patience.betweenBytes, in: .sending) }

    /// Looks, without waiting, whether the final answer has come; true too when nothing more can come.
    mutating func hasAnswer() throws(RequestError) -> Bool {
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
    private typealias Make = @Sendable () throws -> sending any RequestBodySource

    /// Sends exactly `length` bytes; the chunk that completes them is held back until the source has said that it is
    /// the last one, so that the server never takes the beginning of a longer body for the whole.
    private mutating func push(_ head: [UInt8], counted length: Int, _ make: Make) async throws(RequestError) -> Bool {
        // With a length of 0 the head is the whole request.
        guard length > 0 else { return try await push(head, empty: make) }
        guard try await push(head, Data()) else { return false }
        var source = try RequestError.wrapping(.bodyNotEncoded, make)
        var left = length
        while let chunk = try await Self.next(of: &source) {
            left -= chunk.count
            if left == 0, try await Self.next(of: &source) != nil { left = -1 }
            guard left >= 0 else {
                throw RequestError(.bodyNotEncoded, detail: "the body is longer than the \(length) bytes declared")
            }
            guard try await push([], chunk) else { return false }
            if left == 0 { return true }
            if try hasAnswer() { return false }
        }
        guard left == 0 else {
            throw RequestError(.bodyNotEncoded, detail: "the body is \(left) bytes shorter than the \(length) declared")
        }
        return true
    }

    /// Sends a head that announces no bytes, once the source has said that there are none.
    private mutating func push(_ head: [UInt8], empty make: Make) async throws(RequestError) -> Bool {
        var source = try RequestError.wrapping(.bodyNotEncoded, make)
        guard try await Self.next(of: &source) == nil else {
            throw RequestError(.bodyNotEncoded, detail: "the body is longer than the 0 bytes declared")
        }
        return try await push(head, Data())
    }

    /// Sends chunks until the source ends (RFC 9112 §7.1); the last chunk, and the trailers, go out only then.
    private mutating func push(
        _ head: [UInt8], chunked make: Make, _ trailers: RequestTrailers?
    ) async throws(RequestError) -> Bool {
        guard try await push(head, Data()) else { return false }
        var source = try RequestError.wrapping(.bodyNotEncoded, make)
        var encoder = ChunkEncoder()
        while let chunk = try await Self.next(of: &source) {
            var line: [UInt8] = []
            encoder.begin(chunk.count, in: &line)
            guard try await push(line, chunk) else { return false }
            if try hasAnswer() { return false }
        }
        let fields = try trailers?.header() ?? .empty
        var end: [UInt8] = []
        do throws(WireError) {
            try encoder.end(trailers: fields, in: &end)
        } catch {
            throw RequestError(.bodyNotEncoded, detail: error.description, underlying: error)
        }
        return try await push(end, Data())
    }

    /// The next chunk that is not empty.
    private static func next(of source: inout any RequestBodySource) async throws(RequestError) -> Data? {
        try await RequestError.wrapping(.bodyNotEncoded) {
            while let chunk = try await source.next() {
                if !chunk.isEmpty { return chunk }
            }
            return nil
        }
    }
}
