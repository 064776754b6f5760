import RequestsHTTP1

/// How a response goes on the wire, decided by what it is, what it answers, and the behavior ordered.
struct ResponsePlan {
    let framing: ResponseOutput.Framing
    /// The value of Content-Length, if there is to be one.
    let length: Int?
    let hasBody: Bool
    /// Whether the connection may carry another exchange.
    let persists: Bool
    /// Whether the head says that it does not.
    let saysClose: Bool

    init(_ response: RawResponse, answering request: ReceivedRequest, behavior: Behavior) {
        let head = response.head
        hasBody = request.line.method != .head && !head.status.forbidsBody
        framing = hasBody ? Self.framing(response, request.line.version, behavior.framing) : .none
        length =
            if case .counted = framing {
                response.bodyLength
            } else if hasBody || head.status == 204 {
                nil
            } else {
                head.header[.contentLength].flatMap { UInt($0) }.map { Int(clamping: $0) }
            }
        let wantsClose = head.header.listContains("close", in: .connection)
        let endsWithConnection = if case .untilClose = framing { true } else { false }
        saysClose = wantsClose || endsWithConnection || !request.isReusable
        persists = !saysClose && behavior.fault != .closeAfterResponse
    }

    private static func framing(
        _ response: RawResponse, _ version: HTTPVersion, _ wanted: Behavior.Framing
    ) -> ResponseOutput.Framing {
        if version < .http11 { return response.bodyLength == nil || wanted == .untilClose ? .untilClose : .counted }
        switch wanted {
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

    /// The fields after the body, once that has been read.
    var finalTrailers: Header {
        if case .stream(let stream) = body, trailers.isEmpty { stream.trailers } else { trailers }
    }
}
