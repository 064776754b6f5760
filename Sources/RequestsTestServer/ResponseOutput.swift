import RequestsHTTP1
import RequestsPOSIX

/// Writes one response as its behavior says, faults included.
struct ResponseOutput {
    /// How the end of the body is told.
    enum Framing {
        case none, counted, untilClose
        case chunked(sizes: [Int])
    }

    /// Bytes that are kept before they are sent.
    private static var pieceSize: Int { 256 << 10 }

    private let connection: Connection
    private let behavior: Behavior
    private var framing = Framing.none
    private var pending: [UInt8] = []
    private var bodyBytes = 0
    private var encoder = ChunkEncoder()
    private var chunk = 0
    private var hasSent = false

    init(_ connection: Connection, _ behavior: Behavior) {
        self.connection = connection
        self.behavior = behavior
    }

    /// Appends an interim response.
    mutating func append(interim status: HTTPStatus) {
        append("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\r\n")
    }

    /// Appends the head; the fields that frame the message are the server's.
    mutating func append(
        _ head: ResponseHead, framing: Framing, length: Int?, closing: Bool, input: inout RequestInput
    ) throws(ConnectionEnd) {
        let start = pending.count
        self.framing = framing
        var header = head.header
        header.removeAll { $0.name.framesMessage }
        if let length { header.add(Field(name: .contentLength, value: String(length))) }
        if case .chunked = framing { header.add(Field(name: .transferEncoding, value: "chunked")) }
        if closing { header.add(Field(name: .connection, value: "close")) }
        do throws(WireError) {
            try ResponseHeadWriter.append(head.status, header, to: &pending)
        } catch {
            throw .refused(500, "the response cannot be written: \(error)")
        }
        guard case .truncateHead(let byte) = behavior.fault else { return }
        pending.removeLast(max(0, pending.count - start - max(0, byte)))
        try flush(&input)
        throw .closed
    }

    /// Appends bytes of the body, and sends them where they are many: a client that does not read would otherwise have a
    /// copy of each body kept for it.
    mutating func append(body data: Data, input: inout RequestInput) throws(ConnectionEnd) {
        var remaining = data[...]
        while !remaining.isEmpty {
            var size = remaining.count
            if case .chunked(let sizes) = framing {
                if !sizes.isEmpty { size = max(1, sizes[min(chunk, sizes.count - 1)]) }
                encoder.begin(min(size, remaining.count), in: &pending)
                chunk += 1
            }
            var payload = remaining.prefix(size)
            remaining = remaining.dropFirst(size)
            while !payload.isEmpty {
                try appendPayload(payload.prefix(Self.pieceSize), &input)
                payload = payload.dropFirst(Self.pieceSize)
                if pending.count >= Self.pieceSize { try flushPart(&input) }
            }
        }
    }

    /// Appends what marks the end of the body, and sends everything.
    mutating func appendEnd(trailers: Header, input: inout RequestInput) throws(ConnectionEnd) {
        if behavior.fault?.bodyByte != nil { try fail(&input) }
        if case .chunked = framing {
            do throws(WireError) {
                try encoder.end(trailers: trailers, in: &pending)
            } catch {
                throw .closed
            }
        }
        if case .extraBytes(let bytes) = behavior.fault { pending += bytes }
        try flush(&input)
    }

    /// Sends what has been appended, in the middle of a body.
    ///
    /// Bytes that nobody asked for go out with all of it: a client could not tell them from an answer that come later.
    mutating func flushPart(_ input: inout RequestInput) throws(ConnectionEnd) {
        if case .extraBytes = behavior.fault { return }
        try flush(&input)
    }

    /// Sends what has been appended, at the behavior's pace.
    mutating func flush(_ input: inout RequestInput) throws(ConnectionEnd) {
        defer { pending.removeAll(keepingCapacity: true) }
        guard let pace = behavior.pace else { return try connection.send(pending[...]) }
        let size = max(1, pace.bytes)
        var rest = pending[...]
        while !rest.isEmpty {
            if hasSent { try input.pause(until: .after(pace.interval)) }
            try connection.send(rest.prefix(size))
            rest = rest.dropFirst(size)
            hasSent = true
        }
    }

    /// Does what the fault is, where it happens instead of the response.
    mutating func failBeforeResponse(_ input: inout RequestInput) throws(ConnectionEnd) {
        switch behavior.fault {
        case .closeBeforeHead: throw .closed
        case .resetBeforeHead: try reset()
        case .stallBeforeHead: try input.stall()
        case .raw(let bytes):
            pending += bytes
            try flush(&input)
            throw .closed
        case .rawWithoutClosing(let bytes):
            pending += bytes
            try flush(&input)
            try input.stall()
        default: break
        }
    }

    private mutating func appendPayload(_ data: Data, _ input: inout RequestInput) throws(ConnectionEnd) {
        let limit = behavior.fault?.bodyByte.map { $0 - bodyBytes } ?? .max
        pending += data.prefix(limit)
        bodyBytes += min(limit, data.count)
        if limit < data.count { try fail(&input) }
    }

    private mutating func fail(_ input: inout RequestInput) throws(ConnectionEnd) {
        try flush(&input)
        switch behavior.fault {
        case .resetBody: try reset()
        case .stallBody: try input.stall()
        default: break
        }
        throw .closed
    }

    private func reset() throws(ConnectionEnd) {
        try? connection.socket.setResetOnClose()
        throw .closed
    }

    private mutating func append(_ text: String) {
        pending += text.utf8
    }
}

extension Field.Name {
    /// Whether the server alone decides about the field of a response.
    fileprivate var framesMessage: Bool {
        self == .contentLength || self == .transferEncoding || self == .connection || self == .keepAlive
    }
}
