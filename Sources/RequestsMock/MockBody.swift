@_spi(Lock) import Requests

extension PreparedRequest {
    /// Returns this request as a server receives it, with its whole body in memory.
    ///
    /// - Parameter progress: The reporter for the progress of reading the body.
    /// - Returns: The request as received.
    /// - Throws: ``/Requests/RequestError`` if the body cannot be read or does not have its declared length.
    func received(reportingTo progress: inout ProgressReporter) async throws(RequestError) -> PreparedRequest {
        var received = self
        // In memory there is no proxy that would receive these fields. This is checked first, because a change copies
        // the whole request.
        if header.contains(.proxyAuthorization) { received.header.remove(.proxyAuthorization) }
        progress.progress.bytesExpectedToSend = body.knownLength
        switch body {
        case .none, .bytes: break
        case .file(let path, let range): received.body = .bytes(try Self.bytes(ofFile: path, range))
        case .stream(let length, _, let make): received.body = .bytes(try await Self.bytes(of: make, length))
        }
        if let trailers { received.trailers = PreparedRequest.Trailers(try trailers.header()) }
        progress.progress.bytesSent = received.body.knownLength ?? 0
        progress.report(atEnd: true)
        return received
    }

    private static func bytes(ofFile path: String, _ range: Range<Int>?) throws(RequestError) -> Data {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw unreadable(ErrorText.quoted(path), error)
        }
        guard let range else { return data }
        guard range.lowerBound >= 0, range.upperBound <= data.count else {
            throw unreadable("byte range \(range) is outside the file of \(ErrorText.bytes(data.count))")
        }
        return data.subdata(in: range)
    }

    /// Returns the error that all executors throw for a body file that cannot be read.
    private static func unreadable(_ detail: String, _ error: (any Error)? = nil) -> RequestError {
        RequestError(.fileAccessFailed, detail: detail, underlying: error).beforeSending()
    }

    private static func bytes(
        of make: @Sendable () throws -> sending any RequestBody.Source, _ length: Int?
    ) async throws(RequestError) -> Data {
        let whole = try await RequestError.wrapping(.bodyEncodingFailed) {
            var whole = Data()
            var source = try make()
            while let chunk = try await source.next() {
                if Task.isCancelled { throw RequestError(.cancelled) }
                whole.append(chunk)
                if let length, whole.count > length { break }
            }
            return whole
        }
        guard let length, length != whole.count else { return whole }
        let declared = "declared \(ErrorText.bytes(length))"
        let problem =
            whole.count > length
            ? "the body is longer than its \(declared)" : "the body has only \(whole.count) of its \(declared)"
        throw RequestError(.bodyEncodingFailed, detail: problem)
    }
}

extension MockResponse {
    /// Returns this response in the form that `request` specifies.
    func delivered(
        to request: PreparedRequest, delay: ResponseDelay, progress: ProgressReporter, metrics: RawResponse.Metrics
    ) async throws(RequestError) -> RawResponse {
        let head = head(respondingTo: request)
        let hasBody = request.method != .head && !status.forbidsBody
        let length = hasBody ? announcedLength : 0
        let drain = request.drain(of: head)
        let source = MockBodySource(
            hasBody ? scripted : [], length: length, trailers: hasBody ? trailers : .empty,
            delay: drain.map { delay.ending(after: $0.timeout) } ?? delay, progress: progress)
        if let pace { source.set(pace) }
        let isPlain = hasBody && drain == nil && request.progressHandler == nil
        let whole = isPlain ? wholeBody : nil
        let stream = whole.map { ResponseStream(of: $0, source) } ?? ResponseStream(length: length, source)
        do throws(RequestError) {
            if let drain {
                let body = try await Self.drained(stream, drain.limit)
                return RawResponse(head: head, body: .bytes(body), trailers: stream.trailers, metrics: metrics)
            }
            let body = try await Self.body(of: stream, delivery: request.delivery, status: status)
            let isStreamed = request.delivery == .streamed
            return RawResponse(
                head: head, body: body, trailers: isStreamed ? .empty : stream.trailers, metrics: metrics)
        } catch {
            throw error.adding(response: head, body: source.received)
        }
    }

    /// The body, if it arrives at once and has no trailers; otherwise nil.
    private var wholeBody: Data? {
        guard body.count <= 1, maximumBytes == nil, pace == nil, trailers.isEmpty else { return nil }
        var data = Data()
        if let event = body.first {
            guard case .bytes(let bytes) = event else { return nil }
            data = bytes
        }
        return announcedLength == data.count ? data : nil
    }

    /// The events of the body; a body that is cut ends with an error.
    private var scripted: [BodyEvent] {
        guard var remaining = maximumBytes else { return body }
        var events: [BodyEvent] = []
        for event in body {
            guard case .bytes(let data) = event else {
                events.append(event)
                continue
            }
            events.append(.bytes(data.prefix(remaining)))
            remaining -= min(remaining, data.count)
            if remaining == 0 { break }
        }
        return events + [.failure(RequestError(.connectionLost, detail: "cut by a mock"))]
    }

    /// Returns the beginning of a redirect's body; errors that do not end the call are ignored (decision 0021).
    private static func drained(_ stream: ResponseStream, _ limit: Int) async throws(RequestError) -> Data {
        var start = Data()
        do throws(RequestError) {
            while start.count < limit, let chunk = try await stream.next() {
                start.append(chunk.prefix(limit - start.count))
            }
        } catch {
            if error.endsCall { throw error }
        }
        return start
    }

    private static func body(
        of stream: ResponseStream, delivery: ResponseBody.Delivery, status: HTTPStatus
    ) async throws(RequestError) -> ResponseBody {
        switch delivery {
        case .streamed: return .stream(stream)
        case .collected(let limit): return .bytes(try await stream.collect(limit: limit))
        case .file(let path) where status.isSuccess:
            // The limit of a collected body does not apply to files.
            let data = try await stream.collect(limit: .max)
            try checkReplaceable(path)
            try RequestError.wrapping(.fileAccessFailed) { try data.write(to: URL(filePath: path), options: .atomic) }
            return .file(path: path)
        case .file:
            let limit = ResponseBody.Delivery.errorBodyLimit
            var start = Data()
            while start.count < limit, let chunk = try await stream.next() { start.append(chunk) }
            return .bytes(start.prefix(limit))
        }
    }

    /// Throws if the item at `path` is not a regular file.
    ///
    /// An atomic write would replace it, even if it is a device.
    private static func checkReplaceable(_ path: String) throws(RequestError) {
        let resolved = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let attributes = try? FileManager.default.attributesOfItem(atPath: resolved)
        guard let type = attributes?[.type] as? FileAttributeType, type != .typeRegular else { return }
        throw RequestError(.fileAccessFailed, detail: "\(ErrorText.quoted(path)) is not a regular file")
    }
}

/// A response body that is read from the script of a ``MockResponse``.
final class MockBodySource: ResponseBody.Source {
    private struct State {
        var events: ArraySlice<MockResponse.BodyEvent>
        /// The index of the next chunk of the current ``MockResponse/BodyEvent/chunks(count:_:)``.
        var chunkIndex = 0
        /// The beginning of the bytes that were read, as evidence for an error.
        var received = Data()
        var count = 0
        var progress: ProgressReporter
        var outcome: Outcome?
        var isReading = false
        var pace: MockResponse.Pace?
        var isPauseDue = false
    }

    private enum Outcome {
        case complete
        case failed(RequestError)
    }

    private let state: Lock<State>
    private let length: Int?
    private let delay: ResponseDelay
    private let finalTrailers: Header

    init(
        _ events: [MockResponse.BodyEvent], length: Int?, trailers: Header, delay: ResponseDelay,
        progress: ProgressReporter
    ) {
        var progress = progress
        progress.progress.bytesExpectedToReceive = length
        state = Lock(State(events: events[...], progress: progress))
        self.length = length
        self.delay = delay
        finalTrailers = trailers
    }

    func set(_ pace: MockResponse.Pace) {
        state.withLock { $0.pace = pace }
    }

    /// The first bytes that were read, up to the number that is kept as evidence.
    var received: Data { state.withLock { $0.received } }

    var trailers: Header {
        state.withLock { state in
            if case .complete = state.outcome { finalTrailers } else { .empty }
        }
    }

    func next() async throws(RequestError) -> Data? {
        let isReading = state.withLock { state in
            defer { state.isReading = true }
            return state.isReading
        }
        guard !isReading else { throw RequestError(.other, detail: "concurrent reads of one response body") }
        defer { state.withLock { $0.isReading = false } }
        do throws(RequestError) {
            return try await nextChunk()
        } catch {
            // Kept, because every further call must throw the same error.
            state.withLock { $0.outcome = $0.outcome ?? .failed(error) }
            throw error
        }
    }

    private func nextChunk() async throws(RequestError) -> Data? {
        while true {
            if Task.isCancelled { throw RequestError(.cancelled) }
            switch state.withLock({ $0.outcome }) {
            case .complete: return nil
            case .failed(let error): throw error
            case nil: break
            }
            switch state.withLock({ Self.takeEvent(&$0, length: length) }) {
            case .bytes(let data):
                if !data.isEmpty { return data }
            case .pause(let pause): try await delay.wait(for: pause, phase: .betweenBytes)
            case .failure(let error): throw error
            case .chunks: break
            case nil: return nil
            }
        }
    }

    /// Returns the next event; nil at the end.
    private static func takeEvent(_ state: inout State, length: Int?) -> MockResponse.BodyEvent? {
        if let length, state.count >= length { return complete(&state) }
        if state.isPauseDue, let pace = state.pace {
            state.isPauseDue = false
            return .pause(.lasting(pace.pause))
        }
        guard let event = state.events.first else {
            guard let length, state.count < length else { return complete(&state) }
            let detail = "\(state.count) of \(ErrorText.bytes(length)) arrived"
            return .failure(RequestError(.connectionLost, detail: detail))
        }
        if case .chunks(let count, let make) = event {
            guard state.chunkIndex < count else {
                state.chunkIndex = 0
                state.events.removeFirst()
                return event
            }
            state.chunkIndex += 1
            return receive(make(state.chunkIndex - 1), &state, length)
        }
        guard case .bytes(let data) = event, let pace = state.pace, data.count > pace.bytes else {
            state.events.removeFirst()
            if case .bytes(let data) = event { return receive(data, &state, length) }
            return event
        }
        // One chunk at a time, because a list of them could be much larger than the body.
        state.events[state.events.startIndex] = .bytes(data.dropFirst(pace.bytes))
        state.isPauseDue = true
        return receive(data.prefix(pace.bytes), &state, length)
    }

    private static func complete(_ state: inout State) -> MockResponse.BodyEvent? {
        state.outcome = .complete
        state.progress.report(atEnd: true)
        return nil
    }

    /// Counts `data`, and cuts it at the announced length.
    private static func receive(_ data: Data, _ state: inout State, _ length: Int?) -> MockResponse.BodyEvent {
        let data = length.map { data.prefix($0 - state.count) } ?? data
        state.count += data.count
        state.received.append(data.prefix(ResponseBody.Delivery.errorBodyLimit - state.received.count))
        state.progress.progress.bytesReceived = state.count
        state.progress.report()
        return .bytes(data)
    }
}
