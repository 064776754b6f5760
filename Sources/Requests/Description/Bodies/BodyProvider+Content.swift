extension BodyProvider {
    /// Returns a provider of `text` in `charset`.
    ///
    /// The media type is `text/plain` or another type; its charset parameter is set.
    ///
    /// A character that the charset cannot represent fails with ``RequestError/Reason/bodyEncodingFailed``, with
    /// ``BodyProvider/BodyError/textNotEncodable(_:)`` as the underlying error. A Swift string never contains lone
    /// surrogates.
    public static func text(
        _ text: String, in charset: BodyProvider.Charset, as type: MediaType = .plainText
    ) -> BodyProvider {
        BodyProvider(kind: .other) { header, _ in
            let data = try charset.encode(text)
            var type = type
            type.parameters["charset"] = charset.name
            header.set(.contentType(type))
            return .bytes(data)
        }
    }

    /// Returns a provider of the file at `url`, or of a part of it, the bytes in `range`.
    ///
    /// The file is read while it is sent and never held in memory. The filename extension determines the media type
    /// unless `contentType` is given. A URL that is not a file URL fails with
    /// ``RequestError/Reason/bodyEncodingFailed``, with ``BodyProvider/BodyError/notAFileURL(scheme:)`` as the
    /// underlying error. A file that cannot be read fails with ``RequestError/Reason/fileAccessFailed``. In both cases
    /// nothing is sent.
    public static func file(
        at url: URL, range: Range<Int>? = nil, contentType: MediaType? = nil
    ) -> BodyProvider {
        BodyProvider(kind: .other) { header, _ in
            let path = try LocalFile.path(of: url)
            header.set(.contentType(contentType ?? MediaType(filename: path)))
            return .file(path: path, range: range)
        }
    }

    /// Returns a provider that sends the chunks of a sequence, which `make` creates for each transmission.
    ///
    /// With a `length`, the body must have exactly that many bytes, and Content-Length is sent. Without one, the body
    /// is sent chunked.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int? = nil, contentType: MediaType = .binary, _ make: @escaping @Sendable () throws -> sending Chunks
    ) -> BodyProvider where Chunks.Element == Data {
        raw(body: .stream(length: length, make), contentType: contentType)
    }

    /// Returns this provider with its body compressed by `compress`.
    ///
    /// `coding` is added to Content-Encoding (RFC 9110 §8.4).
    ///
    /// Only a body in memory can be compressed; a file or a stream fails with
    /// ``RequestError/Reason/bodyEncodingFailed``, with ``BodyProvider/BodyError/notInMemory`` as the underlying error.
    /// A request without a body stays without one.
    public func compressed(
        as coding: String, _ compress: @escaping @Sendable (Data) throws -> Data
    ) -> BodyProvider {
        BodyProvider(kind: .other) { header, makeEncoder in
            switch try body(updating: &header, encodingJSONWith: makeEncoder) {
            case .none: return .none
            case .bytes(let data):
                let compressed = try compress(data)
                let codings = header[.contentEncoding].map { "\($0), \(coding)" } ?? coding
                header.set(Field(name: .contentEncoding, value: codings))
                return .bytes(compressed)
            case .file, .stream: throw BodyProvider.BodyError.notInMemory
            }
        }
    }

    /// Returns this provider with its body sent slowly: at most `packetSize` bytes at a time, with pauses of `delay`.
    ///
    /// Use it to test slow networks; 16 KiB and 0.2 s resemble 3G.
    public func throttled(
        packetSize: Int = 16 << 10, delay: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> BodyProvider {
        BodyProvider(kind: .other) { header, makeEncoder in
            try body(updating: &header, encodingJSONWith: makeEncoder).throttled(
                packetSize: packetSize, delay: delay, clock: clock)
        }
    }
}
