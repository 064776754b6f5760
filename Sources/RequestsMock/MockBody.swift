@_spi(Lock) import Requests

extension PreparedRequest {
    /// This request as its receiver sees it: the body read to its end, as bytes, and as long as it was declared.
    func received(telling progress: inout ProgressReporter) async throws(RequestError) -> PreparedRequest {
        var received = self
        // There is no proxy in memory; the framing fields stay, because a test server gives them to the mock it serves.
        received.header.removeAll { $0.name.isForProxies }
        progress.progress.totalToSend = body.knownLength
        switch body {
        case .none, .bytes: break
        case .file(let path, let range): received.body = .bytes(try Self.bytes(ofFile: path, range))
        case .stream(let length, _, let make): received.body = .bytes(try await Self.bytes(of: make, length))
        }
        if let trailers { received.trailers = RequestTrailers(try trailers.header()) }
        progress.progress.sent = received.body.knownLength ?? 0
        progress.report(atEnd: true)
        return received
    }

    private static func bytes(ofFile path: String, _ range: Range<Int>?) throws(RequestError) -> Data {
        let data = try RequestError.wrapping(.invalidRequest(.unreadableFile)) {
            try Data(contentsOf: URL(filePath: path))
        }
        guard let range else { return data }
        guard range.lowerBound >= 0, range.upperBound <= data.count else {
            throw RequestError(.bodyNotEncoded, detail: "the file has \(data.count) bytes, not \(range)")
        }
        return data.subdata(in: range)
    }

    private static func bytes(
        of make: @Sendable () throws -> sending any RequestBodySource, _ length: Int?
    ) async throws(RequestError) -> Data {
        let whole = try await RequestError.wrapping(.bodyNotEncoded) {
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
        let problem = whole.count > length ? "more than the \(length)" : "\(whole.count) of the \(length)"
        throw RequestError(.bodyNotEncoded, detail: "\(problem) bytes declared were produced")
    }
}

extension MockResponse {
    /// This response in the form that `request` asked for.
    func delivered(
        to request: PreparedRequest, waiting: Waiting, progress: ProgressReporter, metrics: RawResponse.Metrics
    ) async throws(RequestError) -> RawResponse {
        let head = head(answering: request)
        let hasBody = request.method != .head && !status.forbidsBody
        let length = hasBody ? announcedLength : 0
        let drain = request.drain(of: head)
        let source = MockBodySource(
            hasBody ? body : [], length: length, trailers: hasBody ? trailers : .empty,
            waiting: drain.map { waiting.ending(after: $0.timeout) } ?? waiting, progress: progress)
        let stream = ResponseStream(length: length, source)
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

    /// The beginning of a redirect's body, whatever becomes of the remainder.
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
        of stream: ResponseStream, delivery: Delivery, status: HTTPStatus
    ) async throws(RequestError) -> ResponseBody {
        switch delivery {
        case .streamed: return .stream(stream)
        case .collected(let limit): return .bytes(try await stream.collect(limit: limit))
        case .file(let path) where status.isSuccess:
            let data = try await stream.collect(limit: .max)
            try RequestError.wrapping(.other) { try data.write(to: URL(filePath: path), options: .atomic) }
            return .file(path: path)
        case .file:
            var start = Data()
            while start.count < Delivery.errorBodyLimit, let chunk = try await stream.next() { start.append(chunk) }
            return .bytes(start.prefix(Delivery.errorBodyLimit))
        }
    }
}

/// Plays the script of a body as it is pulled.
final class MockBodySource: ResponseBodySource {
    private struct State {
        var pieces: ArraySlice<MockResponse.Piece>
        var index = 0
        var received = Data()
        var count = 0
        var progress: ProgressReporter
        var ending: Ending?
        var isPulling = false
    }

    private enum Ending {
        case complete
        case failed(RequestError)
    }

    private let state: Lock<State>
    private let length: Int?
    private let waiting: Waiting
    private let trailersAtEnd: Header

    init(
        _ pieces: [MockResponse.Piece], length: Int?, trailers: Header, waiting: Waiting, progress: ProgressReporter
    ) {
        var progress = progress
        progress.progress.totalToReceive = length
        state = Lock(State(pieces: pieces[...], progress: progress))
        self.length = length
        self.waiting = waiting
        trailersAtEnd = trailers
    }

    /// The first bytes that were pulled, at most as many as are kept for evidence.
    var received: Data { state.withLock { $0.received } }

    var trailers: Header {
        state.withLock { state in
            if case .complete = state.ending { trailersAtEnd } else { .empty }
        }
    }

    func next() async throws(RequestError) -> Data? {
        let isPulling = state.withLock { state in
            defer { state.isPulling = true }
            return state.isPulling
        }
        guard !isPulling else { throw RequestError(.other, detail: "two readers pull from one body") }
        defer { state.withLock { $0.isPulling = false } }
        do throws(RequestError) {
            return try await play()
        } catch {
            state.withLock { $0.ending = $0.ending ?? .failed(error) }
            throw error
        }
    }

    private func play() async throws(RequestError) -> Data? {
        while true {
            if Task.isCancelled { throw RequestError(.cancelled) }
            switch state.withLock({ $0.ending }) {
            case .complete: return nil
            case .failed(let error): throw error
            case nil: break
            }
            switch state.withLock({ Self.step(&$0, length: length) }) {
            case .bytes(let data):
                if !data.isEmpty { return data }
            case .pause(let pause): try await waiting.wait(for: pause, phase: .betweenBytes)
            case .failure(let error): throw error
            case .chunks: break
            case nil: return nil
            }
        }
    }

    /// Takes the next thing that happens; nil at the end.
    private static func step(_ state: inout State, length: Int?) -> MockResponse.Piece? {
        if let length, state.count >= length { return complete(&state) }
        guard let piece = state.pieces.first else {
            guard let length, state.count < length else { return complete(&state) }
            return .failure(RequestError(.connectionLost, detail: "\(state.count) of \(length) bytes arrived"))
        }
        if case .chunks(let count, let make) = piece {
            guard state.index < count else {
                state.index = 0
                state.pieces.removeFirst()
                return piece
            }
            state.index += 1
            return take(make(state.index - 1), &state, length)
        }
        state.pieces.removeFirst()
        if case .bytes(let data) = piece { return take(data, &state, length) }
        return piece
    }

    private static func complete(_ state: inout State) -> MockResponse.Piece? {
        state.ending = .complete
        state.progress.report(atEnd: true)
        return nil
    }

    private static func take(_ data: Data, _ state: inout State, _ length: Int?) -> MockResponse.Piece {
        let data = length.map { data.prefix($0 - state.count) } ?? data
        state.count += data.count
        state.received.append(data.prefix(Delivery.errorBodyLimit - state.received.count))
        state.progress.progress.received = state.count
        state.progress.report()
        return .bytes(data)
    }
}
