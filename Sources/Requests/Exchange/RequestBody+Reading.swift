import Dispatch

extension RequestBody {
    /// A source of this body's chunks, for one reading: those of a stream as they come, bytes and files cut small.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/bodyNotReplayable`` for a second reading of what can be read
    ///   once, with ``InvalidRequest/unreadableFile`` for a file that cannot be read, or what a stream's maker throws.
    public func makeSource() throws(RequestError) -> sending any RequestBodySource {
        switch self {
        case .none: return BytesSource(Data())
        case .bytes(let data): return BytesSource(data)
        case .file(let path, let range): return try FileChunks(path: path, extent: LocalFile.extent(of: path, range))
        case .stream(_, _, let make): return try RequestError.wrapping(.bodyNotEncoded) { try make() }
        }
    }

    /// The number of bytes, asking the file system about a file; nil for an open-ended stream.
    ///
    /// - Throws: ``RequestError`` with ``InvalidRequest/unreadableFile`` for a file that cannot be read.
    public func measuredLength() throws(RequestError) -> Int? {
        if case .file(let path, let range) = self { return try LocalFile.extent(of: path, range).count }
        return knownLength
    }

    /// This body with all its bytes in memory, for servers that want to know the length of what has none.
    ///
    /// Deferred parts are evaluated. A body without bytes stays without.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/bodyNotEncoded``, and ``InvalidBody/notInMemory`` underneath
    ///   when there are more bytes than `limit`.
    public func collected(limit: Int = Delivery.defaultLimit) async throws(RequestError) -> RequestBody {
        switch self {
        case .none, .bytes: return self
        case .file, .stream:
            let expected = try measuredLength()
            return try await RequestError.wrapping(.bodyNotEncoded) {
                var whole = Data()
                var source = try makeSource()
                while let chunk = try await source.next() {
                    try Task.checkCancellation()
                    guard chunk.count <= limit - whole.count else { throw InvalidBody.notInMemory }
                    whole.append(chunk)
                }
                if let expected, expected != whole.count {
                    throw InvalidBody.wrongLength(expected: expected, found: whole.count)
                }
                return .bytes(whole)
            }
        }
    }
}

/// Gives bytes in slices, which share their memory.
struct BytesSource: RequestBodySource {
    private static let chunkSize = 256 << 10
    private var rest: Data

    init(_ data: Data) {
        rest = data
    }

    mutating func next() async throws -> Data? {
        guard !rest.isEmpty else { return nil }
        let chunk = rest.prefix(Self.chunkSize)
        rest = rest.dropFirst(Self.chunkSize)
        return chunk
    }
}
