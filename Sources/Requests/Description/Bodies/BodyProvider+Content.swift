extension BodyProvider {
    /// `text` in `charset`, as `text/plain` or another type, whose charset parameter is set.
    ///
    /// A character that the charset has not is ``RequestError/Reason/bodyNotEncoded``, with
    /// ``InvalidBody/textNotEncodable(_:)`` underneath. Lone surrogates do not arise: no Swift string can hold one.
    public static func text(_ text: String, in charset: TextCharset, as type: MediaType = .plainText) -> BodyProvider {
        BodyProvider { header in
            let data = try charset.encode(text)
            var type = type
            let others = type.parameters.filter { !ASCIIFolding.areEqual($0.name, "charset") }
            type.parameters = MediaType.Parameters(
                others + [MediaType.Parameters.Element(name: "charset", value: charset.name)])
            header.set(.contentType(type))
            return .bytes(data)
        }
    }

    /// The file at `url`, or the `range` of its bytes, read while it is sent and never held in memory.
    ///
    /// The content type follows from the name's extension unless one is given. A URL that names no file is
    /// ``RequestError/Reason/bodyNotEncoded`` with ``InvalidBody/notAFileURL(scheme:)`` underneath, a file that cannot be
    /// read ``InvalidRequest/unreadableFile``; neither sends anything.
    public static func file(
        at url: URL, range: Range<Int>? = nil, contentType: MediaType? = nil
    ) -> BodyProvider {
        BodyProvider { header in
            let path = try LocalFile.path(of: url)
            header.set(.contentType(contentType ?? MediaType(forFileName: path)))
            return .file(path: path, range: range)
        }
    }

    /// Chunks of a sequence that `make` gives for each sending, which are of `contentType`.
    ///
    /// With a `length` the body must have exactly so many bytes and Content-Length is sent; without one it is sent
    /// chunked.
    public static func stream<Chunks: AsyncSequence & SendableMetatype>(
        length: Int? = nil, contentType: MediaType = .binary, _ make: @escaping @Sendable () throws -> sending Chunks
    ) -> BodyProvider where Chunks.Element == Data {
        body(.stream(length: length, make), contentType: contentType)
    }

    /// This body compressed by `compress`, with `coding` added to Content-Encoding (RFC 9110 §8.4).
    ///
    /// Only a body in memory can be compressed so: of any other preparing throws ``InvalidBody/notInMemory``. No body
    /// stays none.
    public func compressed(
        as coding: String, _ compress: @escaping @Sendable (Data) throws -> Data
    ) -> BodyProvider {
        BodyProvider { header in
            switch try body(updating: &header) {
            case .none: return .none
            case .bytes(let data):
                let compressed = try compress(data)
                let codings = header[.contentEncoding].map { "\($0), \(coding)" } ?? coding
                header.set(Field(name: .contentEncoding, value: codings))
                return .bytes(compressed)
            case .file, .stream: throw InvalidBody.notInMemory
            }
        }
    }

    /// This body sent slowly: at most `packetSize` bytes, then a pause of `delay`, and so on.
    ///
    /// For trying out slow networks: 16 KiB and 0.2 s make something like 3G.
    public func throttled(
        packetSize: Int = 16 << 10, delay: Duration = .milliseconds(200),
        clock: any Clock<Duration> = ContinuousClock()
    ) -> BodyProvider {
        BodyProvider { header in
            try body(updating: &header).throttled(packetSize: packetSize, delay: delay, clock: clock)
        }
    }
}
