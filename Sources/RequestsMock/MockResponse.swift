/// What a ``MockExecutor`` answers: status, header, and a script of what happens to the body.
///
/// The target of the response's head is that of the request. Content-Length is added when the script tells how long the
/// body is and the header does not; a body with trailers has none, as over a connection.
public struct MockResponse: Sendable {
    /// The status code.
    public var status: HTTPStatus

    /// The header.
    public var header: Header

    /// What happens to the body, in order.
    ///
    /// A response to HEAD and one of status 204 or 304 has none, whatever stands here. A body that ends before the
    /// bytes that the header's Content-Length announces is ``RequestError/Reason/connectionLost``, and one that goes on
    /// is cut there, as over a connection.
    public var body: [Piece]

    /// The fields after the body.
    public var trailers: Header

    /// How long the head lets itself be waited for; nil for not at all.
    public var delay: Pause?

    /// A response of the parts given.
    public init(
        status: HTTPStatus = 200, header: Header = .empty, body: [Piece] = [], trailers: Header = .empty,
        delay: Pause? = nil
    ) {
        self.status = status
        self.header = header
        self.body = body
        self.trailers = trailers
        self.delay = delay
    }

    /// One thing that happens while a body arrives.
    public enum Piece: Sendable {
        /// These bytes arrive, as one chunk.
        case bytes(Data)
        /// So many chunks arrive, each made from its index, from 0, when it is pulled; the length is not announced.
        case chunks(count: Int, @Sendable (_ index: Int) -> Data)
        /// Nothing arrives for a while.
        case pause(Pause)
        /// The body ends here with an error; the length is not announced.
        case failure(RequestError)
    }

    /// A wait, which the limits of the request and its cancellation end as they would a real one.
    public enum Pause: Hashable, Sendable {
        /// Of so long.
        case lasting(Duration)
        /// Until a limit fires or the call is cancelled.
        case endless
    }
}

extension MockResponse {
    /// 200 with `text` in UTF-8, which is of `contentType`; no body and no Content-Type when it is empty.
    public static func ok(_ text: String = "", contentType: MediaType = .plainText) -> MockResponse {
        .status(200, text, contentType: contentType)
    }

    /// Any status, with `text` in UTF-8, which is of `contentType`; no body and no Content-Type when it is empty.
    public static func status(
        _ status: HTTPStatus, _ text: String = "", contentType: MediaType = .plainText
    ) -> MockResponse {
        guard !text.isEmpty else { return MockResponse(status: status) }
        return .data(Data(text.utf8), contentType: contentType, status: status)
    }

    /// The bytes of `data`, which are of `contentType`.
    public static func data(
        _ data: Data, contentType: MediaType = .binary, status: HTTPStatus = 200
    ) -> MockResponse {
        MockResponse(status: status, header: [.contentType(contentType)], body: [.bytes(data)])
    }

    /// `value` as JSON.
    ///
    /// - Throws: What the encoder throws.
    public static func json(
        _ value: some Encodable, status: HTTPStatus = 200, using encoder: JSONEncoder = JSONEncoder()
    ) throws -> MockResponse {
        .data(try encoder.encode(value), contentType: .json, status: status)
    }

    /// A redirect of `status` to `location`, as it stands.
    public static func redirect(_ status: HTTPStatus = 302, to location: String) -> MockResponse {
        MockResponse(status: status, header: [Field(name: .location, value: location)])
    }

    /// 200 with chunks that arrive one by one; the length is announced.
    public static func chunks(_ chunks: [Data]) -> MockResponse {
        MockResponse(body: chunks.map { .bytes($0) })
    }
}

extension MockResponse {
    /// This response with `field` added to its header.
    public func adding(_ field: Field) -> MockResponse {
        var copy = self
        copy.header.add(field)
        return copy
    }

    /// This response with `trailers` after its body.
    public func with(trailers: Header) -> MockResponse {
        var copy = self
        copy.trailers = trailers
        return copy
    }

    /// This response, its head arriving after `pause`.
    public func delayed(by pause: Pause) -> MockResponse {
        var copy = self
        copy.delay = pause
        return copy
    }

    /// This response, its head arriving after `duration`.
    public func delayed(by duration: Duration) -> MockResponse {
        delayed(by: .lasting(duration))
    }
}

extension MockResponse {
    /// How many bytes the body is said to have: by Content-Length, else by the script where that can tell.
    var announcedLength: Int? {
        if let value = header[.contentLength] { return Int(value).flatMap { $0 < 0 ? nil : $0 } }
        guard trailers.isEmpty else { return nil }
        var length = 0
        for piece in body {
            switch piece {
            case .bytes(let data): length += data.count
            case .pause: break
            case .chunks, .failure: return nil
            }
        }
        return length
    }

    /// The head that answers `request`.
    func head(answering request: PreparedRequest) -> ResponseHead {
        var header = header
        if !header.contains(.contentLength), !status.forbidsBody, let announcedLength {
            header.add(Field(name: .contentLength, value: String(announcedLength)))
        }
        return ResponseHead(status: status, header: header, target: request.target)
    }
}
