import Dispatch

extension RequestBody {
    /// The bytes that are in memory; nil for a file or a stream.
    package var inMemory: Data? {
        switch self {
        case .none: Data()
        case .bytes(let data): data
        case .file, .stream: nil
        }
    }

    /// Returns a new source of this body's chunks.
    ///
    /// A stream's chunks are unchanged; bytes and files are split into chunks of at most 256 KiB.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/bodyNotReplayable`` if the body can be sent only once and
    ///   already has a source, with ``RequestError/Reason/fileAccessFailed`` for a file that cannot be read, or with
    ///   the error of the function that makes a stream.
    public func makeSource() throws(RequestError) -> sending any RequestBody.Source {
        switch self {
        case .none: return BytesSource(Data())
        case .bytes(let data): return BytesSource(data)
        case .file(let path, let range): return try FileChunks(path: path, extent: LocalFile.extent(of: path, range))
        case .stream(_, _, let make): return try RequestError.wrapping(.bodyEncodingFailed) { try make() }
        }
    }

    /// Returns the length in bytes, which is read from the file system for a file; nil for an open-ended stream.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/fileAccessFailed`` for a file that cannot be read.
    public func measuredLength() throws(RequestError) -> Int? {
        if case .file(let path, let range) = self { return try LocalFile.extent(of: path, range).count }
        return knownLength
    }

    /// Returns this body with all its bytes in memory, for servers that require a known length.
    ///
    /// Deferred parts are evaluated. If there is no body, the result has none either.
    ///
    /// - Parameter limit: The maximum length in bytes. The default is 64 MiB.
    /// - Returns: The collected body.
    /// - Throws: ``RequestError`` with ``RequestError/Reason/bodyEncodingFailed``, and with
    ///   ``BodyProvider/BodyError/notInMemory`` as its underlying error if there are more bytes than `limit`.
    public func collected(limit: Int = ResponseBody.Delivery.defaultLimit) async throws(RequestError) -> RequestBody {
        try await collected(limit: limit) { try Task.checkCancellation() }
    }

    /// Returns this body with all its bytes in memory, as ``collected(limit:)`` does.
    ///
    /// `check` is called after each chunk.
    package func collected(
        limit: Int = ResponseBody.Delivery.defaultLimit, checking check: () throws -> Void
    ) async throws(RequestError) -> RequestBody {
        switch self {
        case .none, .bytes: return self
        case .file, .stream:
            let expected = try measuredLength()
            return try await RequestError.wrapping(.bodyEncodingFailed) {
                var whole = Data()
                var source = try makeSource()
                while let chunk = try await source.next() {
                    try check()
                    guard chunk.count <= limit - whole.count else { throw BodyProvider.BodyError.notInMemory }
                    whole.append(chunk)
                }
                if let expected, expected != whole.count {
                    throw BodyProvider.BodyError.wrongLength(expected: expected, found: whole.count)
                }
                return .bytes(whole)
            }
        }
    }
}

/// A source of bytes in memory, in slices that share their storage.
struct BytesSource: RequestBody.Source {
    private static let chunkSize = 256 << 10
    private var remaining: Data

    init(_ data: Data) {
        remaining = data
    }

    mutating func next() async throws -> Data? {
        guard !remaining.isEmpty else { return nil }
        let chunk = remaining.prefix(Self.chunkSize)
        remaining = remaining.dropFirst(Self.chunkSize)
        return chunk
    }
}
