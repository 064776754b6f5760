/// A response of a ``MockExecutor``: status, header, and a script of the body's events.
///
/// The response's head has the target of the request. Content-Length is added if the script determines the
/// length of the body and the header does not contain it. A body with trailers has none, as over a connection.
public struct MockResponse: Sendable {
    /// The status code.
    public var status: HTTPStatus

    /// The header.
    public var header: Header

    /// The events of the body, in order.
    ///
    /// The body is ignored in a response to HEAD, and with the status 204 or 304. A body that ends before the length
    /// that the header announces is ``/Requests/RequestError/Reason/connectionLost``. A longer body is cut there, as
    /// over a connection.
    public var body: [BodyEvent]

    /// The trailer fields.
    public var trailers: Header

    /// The delay before the head arrives; nil for none.
    public var delay: Pause?

    /// The number of body bytes after which the connection is lost; nil for a body that is not cut.
    var maximumBytes: Int?

    /// The pace at which the body arrives; nil for the chunks of the events.
    var pace: Pace?

    /// The pace of a body: the size of its chunks and the time between them.
    struct Pace: Sendable {
        let bytes: Int
        let pause: Duration
    }

    /// Creates a response from its parts.
    public init(
        status: HTTPStatus = 200, header: Header = .empty, body: [BodyEvent] = [], trailers: Header = .empty,
        delay: Pause? = nil
    ) {
        self.status = status
        self.header = header
        self.body = body
        self.trailers = trailers
        self.delay = delay
    }

    /// An event in the arrival of a body: bytes, a delay, or a failure.
    @nonexhaustive
    public enum BodyEvent: Sendable {
        /// Bytes arrive as one chunk.
        case bytes(Data)
        /// A number of chunks arrive; each is made from its index, starting at 0, when it is read. The length is not
        /// announced.
        case chunks(count: Int, @Sendable (_ index: Int) -> Data)
        /// Nothing arrives for some time.
        case pause(Pause)
        /// The body ends with an error; its length is not announced.
        case failure(RequestError)
    }

    /// A wait, which the limits of the request and its cancellation end as in a real exchange.
    public enum Pause: Hashable, Sendable {
        /// A wait of this duration.
        case lasting(Duration)
        /// A wait that ends only by a limit or the cancellation of the call.
        case endless
    }
}

extension MockResponse {
    /// Returns a 200 response with `text` in UTF-8; if it is empty, the response has no body and no Content-Type.
    public static func ok(_ text: String = "", contentType: MediaType = .plainText) -> MockResponse {
        .status(200, text, contentType: contentType)
    }

    /// Returns a response with `text` in UTF-8 and with `header`.
    ///
    /// If the text is empty, the response has no body and no Content-Type of its own.
    ///
    /// A Content-Type in `header` replaces `contentType`.
    public static func status(
        _ status: HTTPStatus, _ text: String = "", contentType: MediaType = .plainText, header: Header = .empty
    ) -> MockResponse {
        guard !text.isEmpty else { return MockResponse(status: status, header: header) }
        var header = header
        if !header.contains(.contentType) { header.add(.contentType(contentType)) }
        return MockResponse(status: status, header: header, body: [.bytes(Data(text.utf8))])
    }

    /// Returns a response with the bytes of `data`.
    public static func data(
        _ data: Data, contentType: MediaType = .binary, status: HTTPStatus = 200
    ) -> MockResponse {
        MockResponse(status: status, header: [.contentType(contentType)], body: [.bytes(data)])
    }

    /// Returns a response with `value` encoded as JSON.
    ///
    /// - Throws: The error of the encoder.
    public static func json(
        _ value: some Encodable, status: HTTPStatus = 200, using encoder: JSONEncoder = JSONEncoder()
    ) throws -> MockResponse {
        .data(try encoder.encode(value), contentType: .json, status: status)
    }

    /// Returns a redirect to `location`, which is sent as it is.
    public static func redirect(_ status: HTTPStatus = 302, to location: String) -> MockResponse {
        MockResponse(status: status, header: [Field(name: .location, value: location)])
    }

    /// Returns a 200 response with chunks that arrive one by one; the length is announced.
    public static func chunks(_ chunks: [Data]) -> MockResponse {
        MockResponse(body: chunks.map { .bytes($0) })
    }
}

extension MockResponse {
    /// Returns this response with `field` added to its header.
    public func adding(headerField field: Field) -> MockResponse {
        var copy = self
        copy.header.add(field)
        return copy
    }

    /// Returns this response with `trailers` after its body.
    public func with(trailers: Header) -> MockResponse {
        var copy = self
        copy.trailers = trailers
        return copy
    }

    /// Returns this response with its head delayed by `pause`.
    public func delayed(by pause: Pause) -> MockResponse {
        var copy = self
        copy.delay = pause
        return copy
    }

    /// Returns this response with its head delayed by `duration`.
    public func delayed(by duration: Duration) -> MockResponse {
        delayed(by: .lasting(duration))
    }
}

extension MockResponse {
    /// The length of the body in bytes, from Content-Length or else from the script; nil if neither determines it.
    var announcedLength: Int? {
        if let value = header[.contentLength] { return Int(value).flatMap { $0 < 0 ? nil : $0 } }
        // Trailers are sent only after a chunked body, which has no Content-Length.
        guard trailers.isEmpty else { return nil }
        var length = 0
        for event in body {
            switch event {
            case .bytes(let data): length += data.count
            case .pause: break
            case .chunks, .failure: return nil
            }
        }
        return length
    }

    func head(respondingTo request: PreparedRequest) -> ResponseHead {
        ResponseHead(status: status, header: announcingLength().header, target: request.target)
    }

    /// Returns this response with its length in the header, if it can be announced.
    func announcingLength() -> MockResponse {
        guard !header.contains(.contentLength), !status.forbidsBody, let announcedLength else { return self }
        return adding(headerField: Field(name: .contentLength, value: String(announcedLength)))
    }
}
