import RequestsHTTP1

extension ServerState {
    /// Records a request whose head has arrived, and returns its number in the record.
    func recordHead(_ head: ReceivedRequest, connection: Int, index: Int) -> Int {
        let exchange = TestServer.Exchange(
            connection: connection, index: index, method: head.line.method, target: head.line.target,
            header: head.header)
        let size = head.line.target.utf8.count + Self.size(of: head.header)
        return change { $0.recorded.append(exchange, size: size) }
    }

    /// Records bytes of the body of request `index`, within the limits.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - count: The number of bytes of the body that arrived before.
    ///   - index: The number of the request in the record.
    func recordBody(_ bytes: Data, after count: Int, of index: Int) {
        let limit = max(0, min(limits.recording.bodyBytes, limits.recording.totalBytes))
        let kept = bytes.prefix(max(0, limit - count))
        change { record in
            record.recorded.update(index, addingSize: kept.count) { exchange in
                exchange.body.append(kept)
                if kept.count < bytes.count { exchange.isBodyCut = true }
            }
        }
    }

    /// Records that request `index` has arrived to its end.
    ///
    /// - Parameters:
    ///   - trailers: The trailer fields.
    ///   - body: The whole body, if it was kept for the executor; the record then shares its storage.
    ///   - index: The number of the request in the record.
    func recordEnd(_ trailers: Header, _ body: Data?, of index: Int) {
        change { record in
            record.recorded.update(index, addingSize: Self.size(of: trailers)) { exchange in
                exchange.trailers = trailers
                exchange.isComplete = true
                if let body, !exchange.isBodyCut { exchange.body = body }
            }
        }
    }

    /// Returns the approximate size of a header in memory, in bytes.
    private static func size(of header: Header) -> Int {
        header.reduce(128) { $0 + $1.name.rawValue.utf8.count + $1.valueBytes.count + 32 }
    }

    /// Refuses a request that is not supported, before its body is read.
    func refuseUnsupported(_ head: ReceivedRequest) throws(ConnectionEnd) {
        let method = head.line.method
        if let methods = limits.methods, !methods.contains(method) {
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            throw .refused(405, "method not allowed: \(method)", [Field(name: "Allow", value: allowed)])
        }
        guard method != .connect else {
            throw .refused(405, "CONNECT is not supported", [Field(name: "Allow", value: "GET")])
        }
        if head.header.contains(.expect), head.line.version >= .http11, !head.expectsContinue,
            !head.header.listContains("100-continue", in: .expect)
        {
            throw .refused(417, "unsupported expectation; only 100-continue is supported")
        }
        if case .counted(let bytes) = head.framing, bytes > limits.bodyBytes {
            throw tooLong
        }
    }

    /// The refusal of a body over the limit.
    var tooLong: ConnectionEnd {
        .refused(413, "the body is longer than \(ErrorText.bytes(limits.bodyBytes))")
    }

    /// The root of a server whose name is unknown.
    var root: TargetURI {
        guard let root = try? TargetURI("http://localhost/") else { preconditionFailure("invalid URL literal") }
        return root
    }

    /// Returns the request for the executor, with its body in memory.
    func request(_ head: ReceivedRequest, _ body: Data) throws(ConnectionEnd) -> PreparedRequest {
        var header = head.header
        header.removeAll { $0.name.belongsToExecutor }
        var request = PreparedRequest(
            method: head.line.method, target: try target(of: head), header: header, delivery: .streamed)
        if head.hasServedBody { request.body = .bytes(body) }
        request.timeouts = Timeouts(connect: nil, firstByte: nil, betweenBytes: nil)
        return request
    }

    /// Returns the target as a URI (RFC 9112 §3.3).
    private func target(of head: ReceivedRequest) throws(ConnectionEnd) -> TargetURI {
        let text = head.line.target
        let authority = head.header[.host].flatMap { $0.isEmpty ? nil : $0 } ?? "localhost"
        do throws(RequestError.InvalidRequest) {
            switch text.utf8.first {
            case UInt8(ascii: "/"): return try TargetURI("http://\(authority)\(text)")
            case UInt8(ascii: "*"): return try TargetURI("http://\(authority)")
            // The host of the target overrides the Host field (RFC 9112 §3.2.2).
            default: return try TargetURI(text)
            }
        } catch {
            throw .refused(400, "invalid request target: \(error)")
        }
    }
}

extension ReceivedRequest {
    /// Whether the executor receives the body.
    ///
    /// A body without defined semantics (RFC 9110 §9.3.1, §9.3.2, §9.3.8) is only recorded.
    var hasServedBody: Bool {
        framing != .none && line.method != .get && line.method != .head && line.method != .trace
    }
}
