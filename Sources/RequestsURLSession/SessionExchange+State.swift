extension SessionExchange.State {
    /// The number of unread bytes above which the session is paused, if it can be.
    private static let unreadLimit = 1 << 20

    /// Starts the limit of the first stage.
    ///
    /// URLSession does not report connections, so for a request without a body this is the limit for the first byte.
    mutating func waitForResponse(to upload: Upload) {
        timeLimits.wait(for: (upload.length ?? 1) > 0 ? .connecting : .firstByte)
    }

    /// Returns an error with `reason`, which also states whether the request may have reached the server.
    func error(_ reason: RequestError.Reason) -> RequestError {
        isResumed ? RequestError(reason) : RequestError(reason).beforeSending()
    }

    /// Chooses the destination of the response body.
    ///
    /// - Throws: `RequestError` with `tooLarge` if the declared length is over the limit, or the error of opening the
    ///   file.
    mutating func prepare(for request: PreparedRequest, _ head: ResponseHead) throws(RequestError) {
        if let drain = request.drain(of: head) {
            receiver = .drained(limit: drain.limit)
            timeLimits.wait(for: .betweenBytes, atMost: drain.timeout)
            return
        }
        switch request.delivery {
        case .streamed:
            receiver = .streamed
            timeLimits.stopWaiting()
        case .file(let path) where head.status.isSuccess: receiver = .saved(try ReceivedFile(path: path))
        case .file: receiver = .collected(limit: ResponseBody.Delivery.errorBodyLimit, mustBeWhole: false)
        case .collected(let limit):
            let limit = max(0, limit)
            if let length = head.bodyLength(for: request.method), length > limit {
                throw RequestError(.tooLarge(limit: limit), detail: ErrorText.announced(length))
            }
            receiver = .collected(limit: limit, mustBeWhole: true)
        }
    }

    /// Returns the response to the caller now, with its body as it arrives.
    mutating func deliver(_ stream: ResponseStream) {
        guard let head else { return }
        setOutcome(.success(RawResponse(head: head, body: .stream(stream), metrics: metrics)))
    }

    /// Sets the result of the call; only the first one counts.
    private mutating func setOutcome(_ outcome: SessionExchange.Outcome) {
        guard !hasOutcome else { return }
        hasOutcome = true
        self.outcome = outcome
    }

    private static func tooLarge(_ limit: Int) -> RequestError {
        RequestError(.tooLarge(limit: limit), detail: "the response body is longer than \(ErrorText.bytes(limit))")
    }

    /// Adds received bytes of the body.
    mutating func take(_ data: Data, _ effects: inout SessionExchange.Effects) {
        switch receiver {
        case .collected(let limit, let mustBeWhole):
            timeLimits.wait(for: .betweenBytes)
            let capacity = limit - body.count
            body.append(data.count > capacity ? data.prefix(capacity) : data)
            guard data.count > capacity else { return }
            guard !mustBeWhole else { return end(Self.tooLarge(limit), &effects) }
            complete(&effects)
            effects.cancelsTask = true
        case .drained(let limit):
            let capacity = max(0, limit - body.count)
            body.append(data.prefix(capacity))
            guard data.count > capacity else { return }
            complete(&effects)
            // Foundation on Linux reports a redirect only after its whole body, and ends the task itself.
            effects.cancelsTask = Platform.implementation == .darwin
        case .streamed:
            body.append(data)
            serveReader(&effects)
            if body.count > Self.unreadLimit, !isReceivingPaused {
                isReceivingPaused = true
                effects.pausesReceiving = true
            }
        case .saved(let file):
            timeLimits.wait(for: .betweenBytes)
            do throws(RequestError) {
                try file.write(data)
            } catch {
                end(error, &effects)
            }
        }
    }

    /// Completes the exchange with the whole response.
    mutating func complete(_ effects: inout SessionExchange.Effects) {
        guard let head else {
            return end(RequestError(.protocolViolation, detail: "the response is not HTTP"), &effects)
        }
        do throws(RequestError) {
            switch receiver {
            case .collected, .drained:
                setOutcome(.success(RawResponse(head: head, body: .bytes(body), metrics: metrics)))
            case .streamed: break
            case .saved(let file):
                try file.finish()
                setOutcome(.success(RawResponse(head: head, body: .file(path: file.path), metrics: metrics)))
            }
            ending = .success(())
            effects.isOver = true
            serveReader(&effects)
        } catch {
            end(error, &effects)
        }
    }

    /// Ends the exchange with an error; only the first one counts.
    mutating func end(_ error: RequestError, _ effects: inout SessionExchange.Effects) {
        guard ending == nil else { return }
        // The body of a followed redirect cannot fail the call (decision 0021).
        if case .drained = receiver, !error.endsCall {
            complete(&effects)
            effects.cancelsTask = true
            return
        }
        let isCollected = if case .collected = receiver { true } else { false }
        let error = error.adding(response: head, body: isCollected && head != nil ? body : nil)
        ending = .failure(error)
        setOutcome(.failure(error))
        // Releases the file of a download, which removes its temporary file.
        receiver = .collected(limit: 0, mustBeWhole: false)
        effects.isOver = true
        effects.cancelsTask = true
        serveReader(&effects)
    }
}

// MARK: Reading a streamed body

extension SessionExchange.State {
    /// Discards the unread bytes; a reader of the remaining body then receives `error`.
    ///
    /// Without the error, a body that had arrived completely would end early and look complete.
    mutating func discardBody(_ error: RequestError) {
        guard !body.isEmpty else { return }
        body = Data()
        if case .success = ending { ending = .failure(error.adding(response: head, body: nil)) }
    }
}

extension SessionExchange.State {
    /// Registers `reader` for the next bytes.
    ///
    /// A reader that is already registered makes this one fail.
    mutating func read(
        for reader: CheckedContinuation<SessionExchange.Chunk, Never>,
        _ effects: inout SessionExchange.Effects
    ) {
        guard self.reader == nil else {
            let error = RequestError(.other, detail: "concurrent reads of one response body", response: head)
            effects.reader = (reader, .failure(error))
            return
        }
        self.reader = reader
        timeLimits.wait(for: .betweenBytes)
        serveReader(&effects)
    }

    /// Resumes the reader with the available bytes; if there are none, with the end.
    private mutating func serveReader(_ effects: inout SessionExchange.Effects) {
        guard let reader else { return }
        if !body.isEmpty {
            effects.reader = (reader, .success(body))
            body = Data()
            if isReceivingPaused {
                isReceivingPaused = false
                effects.pausesReceiving = false
            }
        } else if let ending {
            effects.reader = (reader, ending.map { nil })
        } else {
            return
        }
        self.reader = nil
        timeLimits.stopWaiting()
    }
}
