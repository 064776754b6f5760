import RequestsHTTP1

extension ServerState {
    /// Notes a request whose head has arrived, and gives its place in the record.
    func note(_ head: ReceivedRequest, connection: Int, index: Int) -> Int {
        change { record in
            record.exchanges.append(
                TestServer.Exchange(
                    connection: connection, index: index, method: head.line.method, target: head.line.target,
                    header: head.header))
            return record.exchanges.count - 1
        }
    }

    /// Refuses a request that is not served, before its body is read.
    func admit(_ head: ReceivedRequest) throws(ConnectionEnd) {
        let method = head.line.method
        if let methods = limits.methods, !methods.contains(method) {
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            throw .refused(405, "the method is not served", [Field(name: "Allow", value: allowed)])
        }
        guard method != .connect else {
            throw .refused(405, "tunnels are not served", [Field(name: "Allow", value: "GET")])
        }
        if head.header.contains(.expect), head.line.version >= .http11, !head.expectsContinue,
            !head.header.listContains("100-continue", in: .expect)
        {
            throw .refused(417, "the expectation is not one that is met")
        }
        if case .counted(let bytes) = head.framing, bytes > limits.bodyBytes {
            throw .refused(413, "the body is too long")
        }
    }

    /// The root of a server whose name nobody gave.
    var root: TargetURI {
        guard let root = try? TargetURI("http://localhost/") else { preconditionFailure("the text is a URI") }
        return root
    }

    /// What the executor is asked: the request that arrived last at this place, its body as bytes.
    ///
    /// A body that has no meaning (RFC 9110 §9.3.1, §9.3.2, §9.3.8) is left to the record.
    func request(
        _ head: ReceivedRequest, connection: Int, index: Int
    ) throws(ConnectionEnd) -> PreparedRequest {
        let exchange = record.exchanges.last { $0.connection == connection && $0.index == index }
        var header = head.header
        header.removeAll { $0.name.belongsToExecutor }
        var request = PreparedRequest(
            method: head.line.method, target: try target(of: head), header: header, delivery: .streamed)
        if head.framing != .none, head.line.method.takesBody { request.body = .bytes(exchange?.body ?? Data()) }
        request.timeouts = Timeouts(connect: nil, firstByte: nil, betweenBytes: nil)
        return request
    }

    /// The target in the form of a URI (RFC 9112 §3.3).
    private func target(of head: ReceivedRequest) throws(ConnectionEnd) -> TargetURI {
        let text = head.line.target
        let authority = head.header[.host].flatMap { $0.isEmpty ? nil : $0 } ?? "localhost"
        do throws(InvalidRequest) {
            switch text.utf8.first {
            case UInt8(ascii: "/"): return try TargetURI("http://\(authority)\(text)")
            case UInt8(ascii: "*"): return try TargetURI("http://\(authority)")
            // The host of the target counts, not the field (RFC 9112 §3.2.2).
            default: return try TargetURI(text)
            }
        } catch {
            throw .refused(400, "the target cannot be read: \(error)")
        }
    }
}

extension HTTPMethod {
    fileprivate var takesBody: Bool { self != .get && self != .head && self != .trace }
}
