extension InputStream {
    /// An unopened stream of the bytes of `body`.
    ///
    /// The range of a file is read into memory, because an input stream cannot end early.
    ///
    /// - Throws: `RequestError` with `bodyNotEncoded` for a body that is produced asynchronously,
    ///   `bodyNotReplayable` for one that was needed before, `invalidRequest(.unreadableFile)` for a missing file.
    public static func reading(_ body: RequestBody) throws(RequestError) -> InputStream {
        switch body {
        case .none: return InputStream(data: Data())
        case .bytes(let data): return InputStream(data: data)
        case .file(let path, nil):
            guard FileManager.default.isReadableFile(atPath: path), let stream = InputStream(fileAtPath: path) else {
                throw RequestError(.invalidRequest(.unreadableFile), detail: path)
            }
            return stream
        case .file(let path, let range?): return InputStream(data: try bytes(of: path, in: range))
        case .stream(_, _, let make):
            let source = try RequestError.wrapping(.bodyNotEncoded) { try make() }
            guard let source = source as? InputStreamSource else {
                throw RequestError(.bodyNotEncoded, detail: "an asynchronous body cannot be read by an InputStream")
            }
            return try RequestError.wrapping(.bodyNotEncoded) { try source.makeStream() }
        }
    }

    private static func bytes(of path: String, in range: Range<Int>) throws(RequestError) -> Data {
        let data = try RequestError.wrapping(.invalidRequest(.unreadableFile)) { () throws -> Data? in
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            try file.seek(toOffset: UInt64(clamping: range.lowerBound))
            return try file.read(upToCount: range.count)
        }
        guard range.lowerBound >= 0, let data = range.isEmpty ? Data() : data, data.count == range.count else {
            throw RequestError(.invalidRequest(.unreadableFile), detail: "\(path) has no bytes \(range)")
        }
        return data
    }
}
