/// A writer of request heads (RFC 9112 §2.1): the request line, Host, the fields, the framing fields and an empty line.
///
/// The head is always well-formed: if it would not be, an error is thrown instead.
package struct RequestHeadWriter {
    /// The recipient, which determines the form of the request target (RFC 9112 §3.2) and the fields that are sent.
    package enum Form: Sendable {
        /// An origin server: path and query, without fields for a proxy.
        case origin
        /// A proxy: the whole URI.
        case absolute
        /// A person who reads the text: path and query, with every field.
        case text
    }

    /// The framing of the body (RFC 9112 §6).
    package enum Framing: Hashable, Sendable {
        /// No body and no framing field.
        case none
        /// A body with this number of bytes, announced by Content-Length.
        case length(Int)
        /// A chunked body, announced by Transfer-Encoding.
        case chunked
    }

    /// A field of an executor, stored as the line to send so that it is formatted only once (decision 0015).
    package struct Addition: Sendable {
        fileprivate let name: Field.Name
        fileprivate let line: [UInt8]

        /// Creates an addition from `field`, which must be valid.
        package init(_ field: Field) {
            name = field.name
            line = Array("\(field.name): \(field.value)\r\n".utf8)
        }
    }

    /// Returns the head of `request`.
    ///
    /// - Parameters:
    ///   - request: The request; the framing fields of its header are left out.
    ///   - framing: The framing of the body.
    ///   - form: The recipient.
    ///   - additions: Fields of the executor; each is left out if the request has a field of that name.
    /// - Returns: The bytes from the request line to the empty line.
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)``.
    package static func head(
        of request: PreparedRequest, framing: Framing, form: Form = .origin, adding additions: [Addition] = []
    ) throws(RequestError) -> [UInt8] {
        try request.validate()
        return uncheckedHead(of: request, framing: framing, form: form, adding: additions)
    }

    /// Returns the head of a request that has been validated, or whose head is only shown to people.
    package static func uncheckedHead(
        of request: PreparedRequest, framing: Framing, form: Form = .origin, adding additions: [Addition] = []
    ) -> [UInt8] {
        let target = request.target
        let fields = request.header.list.joiningCookies
        // On the stack, which suffices for nearly every head; a longer one is counted and then written again.
        var size = 1 << 10
        while true {
            let head: [UInt8]? = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: size) { memory in
                var writer = CountingWriter(memory)
                write(request, target, fields, framing, form, additions, with: &writer)
                size = writer.count
                return size <= memory.count ? Array(UnsafeBufferPointer(rebasing: memory[..<size])) : nil
            }
            if let head { return head }
        }
    }

    /// A writer of text to memory, which only counts the bytes when the memory is full.
    private struct CountingWriter {
        private let memory: UnsafeMutableBufferPointer<UInt8>
        private(set) var count = 0

        init(_ memory: UnsafeMutableBufferPointer<UInt8>) {
            self.memory = memory
        }

        mutating func write(_ text: String) {
            guard text.utf8.withContiguousStorageIfAvailable({ write($0) }) == nil else { return }
            Array(text.utf8).withUnsafeBufferPointer { write($0) }
        }

        /// Writes a literal, whose length is known at compile time.
        mutating func write(_ text: StaticString) {
            write(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        }

        mutating func write(_ source: UnsafeBufferPointer<UInt8>) {
            if source.count <= memory.count &- count, let first = source.baseAddress, let start = memory.baseAddress {
                UnsafeMutableRawPointer(start + count).copyMemory(from: first, byteCount: source.count)
            }
            count &+= source.count
        }
    }

    private static func write(
        _ request: PreparedRequest, _ target: TargetURI, _ fields: [Field], _ framing: Framing, _ form: Form,
        _ additions: [Addition], with writer: inout CountingWriter
    ) {
        writer.write(request.method.rawValue)
        writer.write(" " as StaticString)
        if form == .absolute { writer.write(target.origin) }
        writer.write(target.requestTarget)
        writer.write(" HTTP/1.1\r\nHost: " as StaticString)
        writer.write(target.authority)
        writer.write("\r\n" as StaticString)
        // By position: iterating would copy each field, which takes 170 instructions.
        for index in fields.indices where fields[index].name.isSent(in: form) {
            writer.write(fields[index].name.rawValue)
            writer.write(": " as StaticString)
            if fields[index].isLatin1 {
                fields[index].valueBytes.withUnsafeBufferPointer { writer.write($0) }
            } else {
                writer.write(fields[index].value)
            }
            writer.write("\r\n" as StaticString)
        }
        for addition in additions where !fields.indices.contains(where: { fields[$0].name == addition.name }) {
            addition.line.withUnsafeBufferPointer { writer.write($0) }
        }
        switch framing {
        case .none: break
        case .length(let count):
            writer.write("Content-Length: " as StaticString)
            writer.write(String(count))
            writer.write("\r\n" as StaticString)
        case .chunked: writer.write("Transfer-Encoding: chunked\r\n" as StaticString)
        }
        // A request without content has nothing to wait for (RFC 9110 §10.1.1).
        if framing != .none, framing != .length(0), request.continueTimeout != nil {
            writer.write("Expect: 100-continue\r\n" as StaticString)
        }
        if framing == .chunked, let names = request.trailers?.names, !names.isEmpty {
            writer.write("Trailer: \(names.map(\.rawValue).joined(separator: ", "))\r\n")
        }
        writer.write("\r\n" as StaticString)
    }
}

extension Field.Name {
    /// Whether the field frames the message or controls the connection, so that only the executor may write it.
    package var belongsToExecutor: Bool {
        switch self {
        case .te, .host, .expect, .upgrade, .trailer, .connection, .keepAlive, .contentLength, .proxyConnection,
            .transferEncoding:
            true
        default: false
        }
    }
}

extension Field {
    /// Whether a request omits the field, because it belongs to the executor.
    ///
    /// `TE: trailers` is not omitted, because HTTP/2 permits it (RFC 9113 §8.2.2). It is not sent in HTTP/1.1, where TE
    /// also requires a field Connection (RFC 9110 §10.1.4).
    package var belongsToExecutor: Bool {
        name.belongsToExecutor && !(name == .te && ASCIIFolding.areEqual(value, "trailers"))
    }
}

extension [Field] {
    /// These fields with all Cookie fields joined into the first one, because a client sends only one (RFC 6265 §5.4).
    package var joiningCookies: [Field] {
        guard let first = indices.first(where: { self[$0].name == .cookie }),
            self[(first + 1)...].contains(where: { $0.name == .cookie })
        else { return self }
        let cookies = filter { $0.name == .cookie && !$0.value.isEmpty }.map(\.value).joined(separator: "; ")
        var joined = filter { $0.name != .cookie }
        joined.insert(Field(name: self[first].name, value: cookies), at: first)
        return joined
    }
}

extension Field.Name {
    /// Returns whether an executor sends this field of a request whose target has the form `form`.
    ///
    /// The rule is the same for every executor: it writes the framing fields itself, and sends Proxy-Authorization only
    /// to the proxy of a request, never to an origin server (RFC 9110 §11.7.2).
    package func isSent(in form: RequestHeadWriter.Form) -> Bool {
        !belongsToExecutor && !(form == .origin && isForProxies)
    }

    /// Whether the field is meant for a proxy.
    package var isForProxies: Bool { self == .proxyAuthorization }
}

extension PreparedRequest {
    /// Returns the framing of the body (RFC 9110 §8.6, RFC 9112 §6).
    ///
    /// A request without a body has `Content-Length: 0` if its method usually has a body.
    ///
    /// - Parameter length: The length of the body in bytes; nil if it is unknown.
    /// - Returns: The framing; a body with trailers is chunked.
    package func framing(ofLength length: Int?) -> RequestHeadWriter.Framing {
        guard hasBody else {
            if method == .get { return .none }
            switch method {
            case .post, .put, .patch: return .length(0)
            default: return .none
            }
        }
        if trailers != nil { return .chunked }
        return length.map { .length($0) } ?? .chunked
    }

    /// Validates everything that would be sent.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/invalidRequest(_:)`` and the request.
    package func validate() throws(RequestError) {
        if method != .get {
            guard method.isValid else {
                throw invalid(.invalidMethod, detail: ErrorText.quoted(method.rawValue, limit: ErrorText.peerTextLimit))
            }
            guard method != .connect else { throw invalid(.unsupportedMethod) }
            guard method != .options || !target.path.hasByteSuffix("/*") else { throw invalid(.asteriskNotSupported) }
        }
        if let problem = target.problem { throw invalid(problem, detail: "\(target)") }
        if let (problem, name) = header.problem {
            throw invalid(problem, detail: Self.detail(of: problem, name, in: header))
        }
        if hasOwnAttributes, let trailers {
            if let (problem, name) = trailers.problem {
                throw invalid(problem, detail: "trailer field \(ErrorText.quoted(name))")
            }
            guard hasBody else { throw invalid(.trailersWithoutBody) }
        }
        guard hasBody else { return }
        switch method {
        case .trace: throw invalid(.bodyNotAllowed, detail: "TRACE with \(body)")
        case .get, .head:
            guard allowsBody else {
                throw invalid(.bodyNotAllowed, detail: "\(method) with \(body); see allowingBody()")
            }
        default: return
        }
    }

    /// Returns the name of the first invalid field and the problem with its value.
    private static func detail(
        of problem: RequestError.InvalidRequest, _ name: Field.Name?, in header: Header
    ) -> String? {
        guard let name = name ?? header.first(where: { !$0.name.isValid })?.name else { return nil }
        let place: (Field) -> String?
        switch problem {
        case .invalidFieldValue: place = { ErrorText.invalidByte(in: $0.value) }
        case .invalidBearerToken: place = { BearerToken.problem(ofAuthorization: $0.value) }
        default: return ErrorText.quoted(name)
        }
        let found = header.lazy.filter { $0.name == name }.compactMap(place).first
        return ErrorText.quoted(name) + (found.map { ": \($0)" } ?? "")
    }

    private func invalid(_ problem: RequestError.InvalidRequest, detail: String? = nil) -> RequestError {
        RequestError(.invalidRequest(problem), detail: detail, request: self)
    }
}
