extension ResponseDecoder {
    /// Returns this decoder with `limit` as the maximum size of a body, instead of its own limit.
    ///
    /// ```swift
    /// api.get(.json().limited(to: 1 << 20), from: "/users")
    /// ```
    ///
    /// Without this function, a body in memory is limited to 64 MiB; a streamed body and a download are not limited. A
    /// longer body fails with ``RequestError/Reason/tooLarge(limit:)``: a body in memory before it is decoded, a stream
    /// at once if its length is known and otherwise when it is read beyond the limit. A download is measured when it is
    /// complete; if it is too long, its file is removed.
    ///
    /// - Parameter limit: The maximum number of bytes; a negative number counts as 0.
    /// - Returns: The decoder.
    public func limited(to limit: Int) -> ResponseDecoder {
        let limit = max(limit, 0)
        switch decoding {
        case .immediate(let decode, _): return ResponseDecoder(accepting: acceptedTypes, limit: limit, decode)
        case .json(let decode, _): return ResponseDecoder(acceptingJSON: acceptedTypes, limit: limit, decode)
        case .suspending:
            let delivery: ResponseBody.Delivery =
                if case .collected = delivery { .collected(limit: limit) } else { delivery }
            return ResponseDecoder(accepting: acceptedTypes, delivery: delivery) { response, makeDecoder in
                var response = response
                response.body = try response.body.limited(to: limit)
                return try await value(from: response, makeDecoder)
            }
        }
    }
}

extension ResponseBody {
    /// Returns this body, or a stream that fails beyond `limit` bytes.
    fileprivate func limited(to limit: Int) throws(RequestError) -> ResponseBody {
        switch self {
        case .bytes(let data):
            guard data.count <= limit else { throw ResponseStream.tooLarge(limit) }
            return self
        case .stream(let stream):
            if let length = stream.length, length > limit { throw ResponseStream.tooLarge(limit) }
            return .stream(ResponseStream(length: stream.length, LimitedSource(stream, limit: limit)))
        case .file(let path):
            guard try LocalFile.extent(of: path, nil).count > limit else { return self }
            try RequestError.wrapping(.other) { try FileManager.default.removeItem(atPath: path) }
            throw ResponseStream.tooLarge(limit)
        }
    }
}

/// The chunks of a stream, up to a limit.
private final class LimitedSource: ResponseBody.Source {
    private let stream: ResponseStream
    private let limit: Int
    /// The number of bytes that may still arrive; nil once the limit is exceeded, which makes every later call fail
    /// too.
    private let remaining: Lock<Int?>

    init(_ stream: ResponseStream, limit: Int) {
        self.stream = stream
        self.limit = limit
        remaining = Lock(limit)
    }

    func next() async throws(RequestError) -> Data? {
        guard let chunk = try await stream.next() else { return nil }
        let isTooLarge = remaining.withLock { remaining in
            remaining = remaining.flatMap { chunk.count <= $0 ? $0 - chunk.count : nil }
            return remaining == nil
        }
        if isTooLarge { throw ResponseStream.tooLarge(limit) }
        return chunk
    }

    var trailers: Header { stream.trailers }
}
