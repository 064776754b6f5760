extension InputStream {
    /// Returns an unopened stream that reads `body`.
    ///
    /// The range of a file is read into memory, because an input stream cannot end before the end of its file.
    ///
    /// - Throws: `RequestError` with `bodyEncodingFailed` for a body that is produced asynchronously,
    ///   `bodyNotReplayable` for one that has already been used, and `invalidRequest(.unreadableFile)` for a missing
    ///   file or a range outside it.
    public static func reading(_ body: RequestBody) throws(RequestError) -> InputStream {
        switch body {
        case .none: return InputStream(data: Data())
        case .bytes(let data): return InputStream(data: data)
        case .file(let path, nil):
            guard FileManager.default.isReadableFile(atPath: path), let stream = InputStream(fileAtPath: path) else {
                let detail = "\(ErrorText.quoted(path)) does not exist or is not readable"
                throw RequestError(.fileAccessFailed, detail: detail)
            }
            return stream
        case .file(let path, let range?): return InputStream(data: try bytes(of: path, in: range))
        case .stream(_, _, let make):
            let source = try RequestError.wrapping(.bodyEncodingFailed) { try make() }
            guard let source = source as? InputStreamSource else {
                throw RequestError(.bodyEncodingFailed, detail: "an InputStream cannot read an asynchronous body")
            }
            return try RequestError.wrapping(.bodyEncodingFailed) { try source.makeStream() }
        }
    }

    private static func bytes(of path: String, in range: Range<Int>) throws(RequestError) -> Data {
        let data = try RequestError.wrapping(.fileAccessFailed) { () throws -> Data? in
            let file = try FileHandle(forReadingFrom: URL(filePath: path))
            try file.seek(toOffset: UInt64(clamping: range.lowerBound))
            return try file.read(upToCount: range.count)
        }
        guard range.lowerBound >= 0, let data = range.isEmpty ? Data() : data, data.count == range.count else {
            let detail = "byte range \(range) is outside \(ErrorText.quoted(path))"
            throw RequestError(.fileAccessFailed, detail: detail)
        }
        return data
    }
}
