import RequestsHTTP1

extension ServerState {
    /// Records a request whose head has arrived, or all of it, and returns its number in the record.
    func recordHead(
        _ head: ReceivedRequest, isComplete: Bool, connection: Int, index: Int, tls: TLSConfiguration.Negotiation?
    ) -> Int {
        var exchange = TestServer.Exchange(
            connection: connection, index: index, method: head.line.method, target: head.line.target,
            header: head.header, tls: tls)
        exchange.isComplete = isComplete
        let size = head.line.target.utf8.count + Self.size(of: head.header)
        return change { $0.recorded.append(exchange, size: size) }
    }

    /// The maximum number of bytes of a body that are recorded.
    var recordedBodyLimit: Int { max(0, min(limits.recording.bodyBytes, limits.recording.totalBytes)) }

    /// The number of bytes of a body that are recorded as they arrive.
    ///
    /// Recording all of them would require a second copy.
    private var recordedBeginning: Int { min(recordedBodyLimit, ArrivingBody.pageLimit) }

    /// Records bytes of a request's body if they belong to its beginning.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - count: The number of body bytes that arrived before.
    ///   - index: The number of the request in the record.
    func recordBeginning(_ bytes: Data, after count: Int, of index: Int) {
        let kept = bytes.prefix(max(0, recordedBeginning - count))
        guard !kept.isEmpty else { return }
        change { record in
            record.recorded.update(index, addingSize: kept.count) { $0.body.append(kept) }
        }
    }

    /// Records the body of request `index`, which has arrived to its end or as far as it will arrive.
    ///
    /// - Parameters:
    ///   - body: The bytes, at least as many as are recorded; the record shares their storage if it keeps all of them.
    ///   - length: The number of bytes that have arrived.
    ///   - index: The number of the request in the record.
    ///   - trailers: The trailer fields if the request has arrived to its end.
    func recordBody(_ body: Data, of length: Int, in index: Int, endingWith trailers: Header? = nil) {
        let limit = recordedBodyLimit
        // A copy, because the record would otherwise keep the whole body.
        let kept = body.count > limit ? body.copiedPrefix(limit) : body
        let size = kept.count - min(recordedBeginning, length) + (trailers.map(Self.size) ?? 0)
        change { record in
            record.recorded.update(index, addingSize: size) { exchange in
                exchange.body = kept
                exchange.isBodyCut = length > limit
                guard let trailers else { return }
                exchange.trailers = trailers
                exchange.isComplete = true
            }
        }
    }

    /// Records the status of the response to request `index`, just before its last byte is sent.
    func recordStatus(_ status: HTTPStatus, of index: Int) {
        change { record in
            record.recorded.update(index) { $0.status = status }
        }
    }

    /// Returns the approximate size of a header in memory, in bytes.
    private static func size(of header: Header) -> Int {
        128 + header.byteCount + 32 * header.count
    }

    /// Returns the refusal of a request that is not supported, before its body is read.
    func refusal(of head: ReceivedRequest) -> ConnectionEnd? {
        let method = head.line.method
        if let methods = limits.methods, !methods.contains(method) {
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            return .refused(405, "method not allowed: \(method)", [Field(name: "Allow", value: allowed)])
        }
        guard method != .connect else {
            return .refused(405, "CONNECT is not supported", [Field(name: "Allow", value: "GET")])
        }
        if head.header.contains(.expect), head.line.version >= .http11, !head.expectsContinue,
            !head.header.listContains("100-continue", in: .expect)
        {
            return .refused(417, "unsupported expectation; only 100-continue is supported")
        }
        if case .counted(let bytes) = head.framing, bytes > limits.bodyBytes { return tooLong }
        return nil
    }

    var tooLong: ConnectionEnd {
        .refused(413, "the body is longer than \(ErrorText.bytes(limits.bodyBytes))")
    }

    /// The root of a server whose name is unknown.
    var root: TargetURI {
        guard let root = try? TargetURI("http://localhost/") else { preconditionFailure("invalid URL literal") }
        return root
    }

    /// Returns the request for the executor, with its body in memory.
    ///
    /// - Parameters:
    ///   - head: The head of the request.
    ///   - body: The body.
    ///   - last: A target with the authority of the requests before this one; nil before the first.
    /// - Returns: The request.
    /// - Throws: The refusal of a request without a valid target.
    func request(
        _ head: ReceivedRequest, _ body: Data, after last: inout ServedTarget?
    ) throws(ConnectionEnd) -> PreparedRequest {
        var header = head.header
        header.removeFields(named: \.belongsToExecutor)
        return PreparedRequest(
            receivedWith: head.line.method, target: try target(of: head, after: &last), header: header,
            body: head.hasServedBody ? .bytes(body) : .none)
    }

    /// Returns the target as a URI (RFC 9112 §3.3).
    private func target(
        of head: ReceivedRequest, after last: inout ServedTarget?
    ) throws(ConnectionEnd) -> TargetURI {
        let text = head.line.target
        let authority = head.header[.host].flatMap { $0.isEmpty ? nil : $0 } ?? "localhost"
        do throws(RequestError.InvalidRequest) {
            switch text.utf8.first {
            case UInt8(ascii: "/"):
                if let last, last.authority.hasSameBytes(as: authority) {
                    return try last.target.replacing(requestTarget: text)
                }
                let target = try TargetURI("http://\(authority)\(text)")
                last = ServedTarget(authority: authority, target: target)
                return target
            case UInt8(ascii: "*"): return try TargetURI("http://\(authority)")
            // The host of the target overrides the Host field (RFC 9112 §3.2.2).
            default: return try TargetURI(text)
            }
        } catch {
            throw .refused(400, "invalid request target: \(error)")
        }
    }
}

/// A request's target, and its authority as the client sent it.
struct ServedTarget {
    let authority: String
    let target: TargetURI
}

extension ReceivedRequest {
    /// Whether the executor receives the body.
    ///
    /// A body without defined semantics (RFC 9110 §9.3.1, §9.3.2, §9.3.8) is only recorded.
    var hasServedBody: Bool {
        framing != .none && line.method != .get && line.method != .head && line.method != .trace
    }
}
