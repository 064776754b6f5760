extension ResponseDecoder where Response == ResponseBytes {
    /// The body's bytes in chunks, as they arrive and no faster than they are asked for.
    public static let bytes = ResponseDecoder(streaming: { _, stream in ResponseBytes(stream) })
}

extension ResponseDecoder where Response == ResponseLines {
    /// The body's lines as UTF-8 text, as they arrive and no faster than they are asked for.
    public static let lines = ResponseDecoder.lines()

    /// The body's lines as UTF-8 text; a line of more than `limit` bytes is
    /// ``RequestError/Reason/tooLarge(limit:)``.
    public static func lines(limit: Int = 1 << 20) -> ResponseDecoder {
        ResponseDecoder(streaming: { _, stream in ResponseLines(stream, limit: limit) })
    }
}

extension ResponseDecoder where Response == URL {
    /// The body written to the file at `path`, which is replaced; the response is the file's URL.
    ///
    /// The file appears whole or not at all. Only a 2xx response is written as it arrives; one that the validator
    /// lets through besides those is written when it is complete.
    public static func download(to path: String) -> ResponseDecoder {
        ResponseDecoder(delivery: .file(path: path)) { response in
            let url = URL(filePath: path)
            if case .file(let written) = response.body, written.hasSameBytes(as: path) { return url }
            let data = try await response.body.collected(limit: Delivery.defaultLimit)
            try RequestError.wrapping(.other) { try data.write(to: url, options: .atomic) }
            return url
        }
    }
}
