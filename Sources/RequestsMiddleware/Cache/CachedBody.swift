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
        // A copy, because the indices of a received chunk begin at 0.
        let chunk = Data(remaining.prefix(Self.chunkSize))
        remaining = remaining.dropFirst(Self.chunkSize)
        return chunk
    }
}

/// A recorder that stores a body when the caller has read its end.
///
/// If the body is released early, fails, is cancelled or becomes too long, nothing is stored.
struct BodyRecorder: BodyObserver {
    private let length: Int?
    private let limit: Int
    /// The share of the limit that the recorded bytes use.
    private let space: Shares.Share
    private let store: @Sendable (Data) async -> Void
    /// The bytes that were read; nil if there are too many.
    private var recorded: Data? = Data()

    init(
        length: Int?, limit: Int, in space: Shares.Share, store: @escaping @Sendable (Data) async -> Void
    ) {
        self.length = length
        self.limit = limit
        self.space = space
        self.store = store
    }

    mutating func receive(_ chunk: Data) {
        guard let count = recorded?.count else { return }
        if chunk.count <= limit - count, space.grow(by: chunk.count) {
            recorded?.append(chunk)
        } else {
            recorded = nil
            space.release()
        }
    }

    func complete() async {
        guard let recorded, length.map({ $0 == recorded.count }) ?? true else { return }
        await store(recorded)
    }
}
