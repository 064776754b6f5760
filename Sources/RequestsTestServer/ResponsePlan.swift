import RequestsHTTP1

/// The framing of a response, and whether its connection is kept; the response, the request and the behavior decide.
struct ResponsePlan {
    let framing: ResponseOutput.Framing
    /// The value of Content-Length; nil if the field is not sent.
    let length: Int?
    let hasBody: Bool
    let keepsConnection: Bool
    /// Whether the head announces that the connection will be closed.
    let announcesClose: Bool

    init(_ response: RawResponse, to request: ReceivedRequest, behavior: TestServer.Behavior) {
        let head = response.head
        hasBody = request.line.method != .head && !head.status.forbidsBody
        framing = hasBody ? Self.framing(response, request.line.version, behavior.framing) : .none
        length =
            if case .counted = framing {
                response.bodyLength
            } else if hasBody || head.status == 204 {
                nil
            } else {
                // The length that a body would have, in a response to HEAD or with 304.
                head.header[.contentLength].flatMap { UInt($0) }.map { Int(clamping: $0) }
            }
        let requestsClose = head.header.listContains("close", in: .connection)
        let endsWithConnection = if case .untilClose = framing { true } else { false }
        announcesClose = requestsClose || endsWithConnection || !request.isReusable
        keepsConnection = !announcesClose && behavior.fault != .unannouncedClose
    }

    private static func framing(
        _ response: RawResponse, _ version: HTTPVersion, _ requested: TestServer.Behavior.Framing
    ) -> ResponseOutput.Framing {
        // HTTP/1.0 has no chunks.
        if version < .http11 { return response.bodyLength == nil || requested == .untilClose ? .untilClose : .counted }
        switch requested {
        case .untilClose: return .untilClose
        case .chunked(let sizes): return .chunked(sizes: sizes)
        case .automatic:
            return response.bodyLength == nil || !response.trailers.isEmpty ? .chunked(sizes: []) : .counted
        }
    }
}

extension RawResponse {
    fileprivate var bodyLength: Int? {
        switch body {
        case .bytes(let data): data.count
        case .stream(let stream): stream.length
        case .file: nil
        }
    }

    /// The trailer fields, once the body has been read to its end.
    var finalTrailers: Header {
        if case .stream(let stream) = body, trailers.isEmpty { stream.trailers } else { trailers }
    }
}
