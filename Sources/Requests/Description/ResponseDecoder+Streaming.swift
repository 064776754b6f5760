extension ResponseDecoder where Response == ResponseStream.Chunks {
    /// A decoder that returns the body in chunks, as they arrive and no faster than you read them.
    public static let chunks = ResponseDecoder(streaming: { _, stream in ResponseStream.Chunks(stream) })
}

extension ResponseDecoder where Response == ResponseStream.Lines {
    /// A decoder that returns the body's lines as UTF-8 text, as they arrive and no faster than you read them.
    public static let lines = ResponseDecoder.lines()

    /// Returns a decoder of the body's lines as UTF-8 text.
    ///
    /// A line of more than `limit` bytes fails with ``RequestError/Reason/tooLarge(limit:)``.
    public static func lines(limit: Int = 1 << 20) -> ResponseDecoder {
        ResponseDecoder(streaming: { _, stream in ResponseStream.Lines(stream, limit: limit) })
    }
}

extension ResponseDecoder where Response == URL {
    /// Returns a decoder that writes the body to the file at `url`, replacing it, and returns `url`.
    ///
    /// The file appears whole or not at all. Only the body of a 2xx response is written as it arrives; the body of any
    /// other response that the validator accepts is written when it is complete.
    public static func download(to url: URL) -> ResponseDecoder {
        let path = url.path(percentEncoded: false)
        return ResponseDecoder(delivery: .file(path: path)) { response, _ in
            if case .file(let written) = response.body, written.hasSameBytes(as: path) { return url }
            let data = try await response.body.collected(limit: ResponseBody.Delivery.defaultLimit)
            try RequestError.wrapping(.fileAccessFailed) { try data.write(to: url, options: .atomic) }
            return url
        }
    }
}
