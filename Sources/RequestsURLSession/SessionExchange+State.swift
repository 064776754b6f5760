extension SessionExchange.State {
    /// Above this a reader is so slow that the session is held back, where it can be.
    private static let heldLimit = 1 << 20

    /// Decides where the body goes.
    mutating func prepare(for request: PreparedRequest, _ head: ResponseHead) throws(RequestError) {
        if let drain = request.drain(of: head) {
            receiver = .drained(limit: drain.limit)
            patience.wait(for: .betweenBytes, atMost: drain.timeout)
            return
        }
        switch request.delivery {
        case .streamed:
            receiver = .streamed
            patience.rest()
        case .file(let path) where head.status.isSuccess: receiver = .saved(try ReceivedFile(path: path))
        case .file: receiver = .collected(limit: Delivery.errorBodyLimit, isWhole: false)
        case .collected(let limit):
            let limit = max(0, limit)
            if let length = head.bodyLength(answering: request.method), length > limit {
                throw RequestError(.tooLarge(limit: limit), detail: "\(length) bytes announced")
            }
            receiver = .collected(limit: limit, isWhole: true)
        }
    }

    /// The caller gets the response now, its body as it arrives.
    mutating func handOver(_ stream: ResponseStream) {
        guard let head else { return }
        answer(.success(RawResponse(head: head, body: .stream(stream), metrics: metrics)))
    }

    /// The first answer is the one the caller gets.
    private mutating func answer(_ answer: SessionExchange.Answer) {
        guard !isAnswered else { return }
        isAnswered = true
        self.answer = answer
    }

    /// Bytes of the body have come.
    mutating func take(_ data: Data, _ consequences: inout SessionExchange.Consequences) {
        switch receiver {
        case .collected(let limit, let isWhole):
            patience.wait(for: .betweenBytes)
            let room = limit - body.count
            body.append(data.count > room ? data.prefix(room) : data)
            guard data.count > room else { return }
            if isWhole { return end(RequestError(.tooLarge(limit: limit)), &consequences) }
            complete(&consequences)
            consequences.cancelsTask = true
        case .drained(let limit):
            let room = max(0, limit - body.count)
            body.append(data.prefix(room))
            guard data.count > room else { return }
            complete(&consequences)
            // Foundation on Linux reports a redirect when all of its body is here, and ends by itself.
            consequences.cancelsTask = Platform.implementation == .darwin
        case .streamed:
            body.append(data)
            serveReader(&consequences)
            if body.count > Self.heldLimit, !isHeld {
                isHeld = true
                consequences.held = true
            }
        case .saved(let file):
            patience.wait(for: .betweenBytes)
            do throws(RequestError) {
                try file.write(data)
            } catch {
                end(error, &consequences)
            }
        }
    }

    /// The response has come to its end.
    mutating func complete(_ consequences: inout SessionExchange.Consequences) {
        guard let head else {
            return end(RequestError(.protocolViolation, detail: "no response that is HTTP"), &consequences)
        }
        do throws(RequestError) {
            switch receiver {
            case .collected, .drained:
                answer(.success(RawResponse(head: head, body: .bytes(body), metrics: metrics)))
            case .streamed: break
            case .saved(let file):
                try file.finish()
                answer(.success(RawResponse(head: head, body: .file(path: file.path), metrics: metrics)))
            }
            ending = .success(())
            consequences.isOver = true
            serveReader(&consequences)
        } catch {
            end(error, &consequences)
        }
    }

    /// Something has ended the exchange before its end; only the first such thing counts.
    mutating func end(_ error: RequestError, _ consequences: inout SessionExchange.Consequences) {
        guard ending == nil else { return }
        if case .drained = receiver, !error.endsCall {
            complete(&consequences)
            consequences.cancelsTask = true
            return
        }
        let isCollected = if case .collected = receiver { true } else { false }
        let error = error.adding(response: head, body: isCollected && head != nil ? body : nil)
        ending = .failure(error)
        answer(.failure(error))
        receiver = .collected(limit: 0, isWhole: false)
        consequences.isOver = true
        consequences.cancelsTask = true
        serveReader(&consequences)
    }
}

// MARK: Reading a streamed body

extension SessionExchange.State {
    /// Drops the bytes that have not been read; a reader of the remainder then gets `error`.
    ///
    /// Without the error, a body that had arrived whole would end early and look complete.
    mutating func discardBody(_ error: RequestError) {
        guard !body.isEmpty else { return }
        body = Data()
        if case .success = ending { ending = .failure(error.adding(response: head, body: nil)) }
    }
}

extension SessionExchange.State {
    mutating func read(
        for reader: CheckedContinuation<SessionExchange.Chunk, Never>,
        _ consequences: inout SessionExchange.Consequences
    ) {
        guard self.reader == nil else {
            let error = RequestError(.other, detail: "two calls read one body at the same time", response: head)
            consequences.reader = (reader, .failure(error))
            return
        }
        self.reader = reader
        patience.wait(for: .betweenBytes)
        serveReader(&consequences)
    }

    /// Gives the reader what there is: bytes first, then the end.
    private mutating func serveReader(_ consequences: inout SessionExchange.Consequences) {
        guard let reader else { return }
        if !body.isEmpty {
            consequences.reader = (reader, .success(body))
            body = Data()
            if isHeld {
                isHeld = false
                consequences.held = false
            }
        } else if let ending {
            consequences.reader = (reader, ending.map { nil })
        } else {
            return
        }
        self.reader = nil
        patience.rest()
    }
}
