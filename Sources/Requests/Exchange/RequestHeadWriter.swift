/// Writes the head of a request (RFC 9112 §2.1): request line, Host, the fields, the framing fields, an empty line.
///
/// What it writes is always well-formed: a request that would not be makes it throw.
package struct RequestHeadWriter {
    /// Where the request goes, which decides the form of its target (RFC 9112 §3.2) and which fields are sent.
    package enum Form: Sendable {
        /// To the origin server: path and query, and nothing that is meant for a proxy.
        case origin
        /// To a proxy: the whole URI.
        case absolute
        /// To a reader: path and query, and every field.
        case text
    }

    /// How the end of the body is told (RFC 9112 §6).
    package enum Framing: Hashable, Sendable {
        /// No body, and no word of one.
        case none
        /// A body of so many bytes, told by Content-Length.
        case length(Int)
        /// A body in chunks, told by Transfer-Encoding.
        case chunked
    }

    /// A field of an executor's own, put down as it goes out.
    package struct Addition: Sendable {
        fileprivate let name: Field.Name
        fileprivate let line: [UInt8]

        /// What adds `field`, which must be valid.
        package init(_ field: Field) {
            name = field.name
            line = Array("\(field.name): \(field.value)\r\n".utf8)
        }
    }

    /// The head of `request`.
    ///
    /// - Parameters:
    ///   - request: The request; the framing fields of its header are left out.
    ///   - framing: How the body will be sent.
    ///   - form: The form of the request target.
    ///   - additions: Fields of the executor's own, each left out when the request has one of its name.
    /// - Returns: The bytes from the request line to the empty line.
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)``.
    package static func head(
        of request: PreparedRequest, framing: Framing, form: Form = .origin, adding additions: [Addition] = []
    ) throws(RequestError) -> [UInt8] {
        try request.validate()
        return uncheckedHead(of: request, framing: framing, form: form, adding: additions)
    }

    /// The head of a request that has been validated, or that is only to be read by a person.
    static func uncheckedHead(
        of request: PreparedRequest, framing: Framing, form: Form = .origin, adding additions: [Addition] = []
    ) -> [UInt8] {
        let target = request.target
        let fields = request.header.list
        var head: [UInt8] = []
        var size = 1 << 10
        while head.isEmpty {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { memory in
                var pen = Pen(memory)
                write(request, target, fields, framing, form, additions, with: &pen)
                size = pen.count
                guard size <= memory.count else { return }
                head.append(contentsOf: UnsafeBufferPointer(rebasing: memory[..<size]))
            }
        }
        return head
    }

    /// Writes texts behind one another into memory, and counts on when that is full.
    private struct Pen {
        private let memory: UnsafeMutableBufferPointer<UInt8>
        private(set) var count = 0

        init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
            self.memory = memory
        }

        @inline(__always)
        mutating func write(_ text: String) {
            guard text.utf8.withContiguousStorageIfAvailable({ write($0) }) == nil else { return }
            Array(text.utf8).withUnsafeBufferPointer { write($0) }
        }

        /// Writes a literal.
        @inline(__always)
        mutating func write(_ text: StaticString) {
            write(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }

        @inline(__always)
        mutating func write(_ source: UnsafeBufferPointer<UInt8>) {
            if source.count <= memory.count &- count, let first = source.baseAddress, let start = memory.baseAddress {
                UnsafeMutableRawPointer(start + count).copyMemory(from: first, byteCount: source.count)
            }
            count &+= source.count
        }

        mutating func write(_ field: Field) {
            write(field.name.rawValue)
            write(": " as StaticString)
            write(field.value)
            write("\r\n" as StaticString)
        }
    }

    private static func write(
        _ request: PreparedRequest, _ target: TargetURI, _ fields: [Field], _ framing: Framing, _ form: Form,
        _ additions: [Addition], with pen: inout Pen
    ) {
        pen.write(request.method.rawValue)
        pen.write(" " as StaticString)
        if form == .absolute { pen.write(target.origin) }
        pen.write(target.requestTarget)
        pen.write(" HTTP/1.1\r\nHost: " as StaticString)
        pen.write(target.authority)
        pen.write("\r\n" as StaticString)
        for field in fields where field.name.isSent(in: form) {
            pen.write(field)
        }
        for addition in additions where !fields.contains(where: { $0.name == addition.name }) {
            addition.line.withUnsafeBufferPointer { pen.write($0) }
        }
        switch framing {
        case .none: break
        case .length(let count):
            pen.write("Content-Length: " as StaticString)
            pen.write(String(count))
            pen.write("\r\n" as StaticString)
        case .chunked: pen.write("Transfer-Encoding: chunked\r\n" as StaticString)
        }
        if framing != .none, framing != .length(0), request.continueWait != nil {
            pen.write("Expect: 100-continue\r\n" as StaticString)
        }
        if framing == .chunked, let names = request.trailers?.names, !names.isEmpty {
            pen.write("Trailer: \(names.map(\.rawValue).joined(separator: ", "))\r\n")
        }
        pen.write("\r\n" as StaticString)
    }
}

extension Field.Name {
    /// Whether the field frames a message or steers a connection, so that only the executor may write it.
    package var belongsToExecutor: Bool {
        switch rawValue.utf8.count {
        case 2: self == .te
        case 4: self == .host
        case 6: self == .expect
        case 7: self == .upgrade || self == .trailer
        case 10: self == .connection || self == .keepAlive
        case 14: self == .contentLength
        case 16: self == .proxyConnection
        case 17: self == .transferEncoding
        default: false
        }
    }
}

extension Field.Name {
    /// Returns whether an executor sends a request's field of this name with a target in `form`.
    ///
    /// The one rule of every executor: the framing fields are its own, and Proxy-Authorization is for the proxy that a
    /// request is sent to, never for an origin server (RFC 9110 §11.7.2).
    package func isSent(in form: RequestHeadWriter.Form) -> Bool {
        !belongsToExecutor && !(form == .origin && isForProxies)
    }

    /// Whether the field is for the proxy that a request is sent to.
    package var isForProxies: Bool { rawValue.utf8.count == 19 && self == .proxyAuthorization }
}

extension PreparedRequest {
    /// How the body is framed when its length is `length`, nil for unknown (RFC 9110 §8.6, RFC 9112 §6).
    ///
    /// A request without a body says `Content-Length: 0` where its method is one that usually has one.
    package func framing(ofLength length: Int?) -> RequestHeadWriter.Framing {
        if body.isNone {
            if method == .get { return .none }
            switch method {
            case .post, .put, .patch: return .length(0)
            default: return .none
            }
        }
        if trailers != nil { return .chunked }
        return length.map { .length($0) } ?? .chunked
    }

    /// Checks everything that would go on the wire.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)`` and the request.
    package func validate() throws(RequestError) {
        if isChecked { return }
        try check()
        isChecked = true
    }

    private func check() throws(RequestError) {
        if method != .get {
            guard method.isValid else { throw invalid(.invalidMethod) }
            guard method != .connect else { throw invalid(.unsupportedMethod) }
        }
        if let problem = target.problem { throw invalid(problem, detail: "\(target)") }
        if let (problem, name) = header.problem { throw invalid(problem, detail: name.map { "in \($0)" }) }
        if let trailers {
            if let problem = trailers.problem { throw invalid(problem, detail: "in the trailers") }
            guard !body.isNone else { throw invalid(.trailersWithoutBody) }
        }
        guard !body.isNone else { return }
        switch method {
        case .get, .head, .trace: throw invalid(.bodyNotAllowed, detail: "\(method) with \(body)")
        default: return
        }
    }

    private func invalid(_ problem: InvalidRequest, detail: String? = nil) -> RequestError {
        RequestError(.invalidRequest(problem), detail: detail, request: self)
    }
}
