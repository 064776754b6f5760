/// A stored body that is read in chunks.
struct CachedBody: PulledSource, ~Copyable {
    private var remaining: Data
    private static let chunkSize = 64 << 10

    init(_ body: Data) {
        remaining = body
    }

    var trailers: Header? { remaining.isEmpty ? .empty : nil }

    mutating func next() async throws(RequestError) -> Data? {
        if Task.isCancelled { throw RequestError(.cancelled) }
        guard !remaining.isEmpty else { return nil }
        // A copy, whose indices begin at 0 as those of a received chunk.
        let chunk = Data(remaining.prefix(Self.chunkSize))
        remaining = remaining.dropFirst(Self.chunkSize)
        return chunk
    }
}

/// A body that is read by the caller and stored when its end has been read.
///
/// If it is released, fails or is cancelled before, or becomes too long, nothing is stored.
struct RecordedBody: PulledSource, ~Copyable {
    private let stream: ResponseStream
    private let limit: Int
    private let finish: @Sendable (Data) async -> Void
    /// The space of the recorded bytes.
    private let space: Shares.Share
    private var received = Data()
    private var isRecording = true
    private(set) var trailers: Header?

    init(
        _ stream: ResponseStream, limit: Int, in space: Shares.Share,
        finish: @escaping @Sendable (Data) async -> Void
    ) {
        self.stream = stream
        self.limit = limit
        self.finish = finish
        self.space = space
    }

    var metrics: RawResponse.Metrics? { stream.metrics }

    mutating func next() async throws(RequestError) -> Data? {
        guard let chunk = try await stream.next() else {
            trailers = stream.trailers
            let isComplete = stream.length.map { $0 == received.count } ?? true
            if isRecording, isComplete { await finish(received) }
            received = Data()
            return nil
        }
        if isRecording {
            if chunk.count <= limit - received.count, space.grow(by: chunk.count) {
                received.append(chunk)
            } else {
                isRecording = false
                received = Data()
                space.release()
            }
        }
        return chunk
    }
}
