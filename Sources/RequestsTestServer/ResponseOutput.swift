import RequestsHTTP1
import RequestsPOSIX

/// A writer of one response according to its behavior, including faults.
struct ResponseOutput {
    /// The framing of the body, which marks its end.
    enum Framing {
        case none, counted, untilClose
        case chunked(sizes: [Int])
    }

    /// The number of bytes that are collected before they are sent.
    private static var pieceSize: Int { 256 << 10 }

    private let connection: ServerConnection
    private let behavior: TestServer.Behavior
    /// A function that records the status of the response.
    private let record: (HTTPStatus) -> Void
    /// The status until it is recorded; nil if a fault prevents the response from ending.
    private var unrecordedStatus: HTTPStatus?
    /// The length of a body with Content-Length.
    private var countedLength: Int?
    private var framing = Framing.none
    private var pending: [UInt8] = []
    /// The number of bytes of the body, without its framing, that have been appended.
    private var bodyBytes = 0
    private var encoder = ChunkEncoder()
    private var chunkCount = 0
    /// Whether bytes have been sent, so that a pace requires a pause before the next ones.
    private var hasSent = false
    /// Whether all bytes have been appended.
    private var isComplete = false

    /// Creates the output of one response.
    ///
    /// `record` is called with the status before the last byte is sent, because a client that has the whole response
    /// may read the record at once. A response that a fault cuts short is not recorded.
    init(
        _ connection: ServerConnection, _ behavior: TestServer.Behavior,
        recording record: @escaping (HTTPStatus) -> Void
    ) {
        self.connection = connection
        self.behavior = behavior
        self.record = record
    }

    mutating func append(interim status: HTTPStatus) {
        append("HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n\r\n")
    }

    /// Appends the head; the server sets the fields that frame the message.
    mutating func append(
        _ head: ResponseHead, framing: Framing, length: Int?, closing: Bool, input: inout RequestInput
    ) throws(ConnectionEnd) {
        let start = pending.count
        self.framing = framing
        var fields: [Field] = []
        fields.reserveCapacity(4)
        if !head.header.contains(.date), let date = behavior.date() {
            fields.append(Field(name: .date, value: connection.text(of: HTTPDate(date))))
        }
        if let length { fields.append(Field(name: .contentLength, value: String(length))) }
        if case .chunked = framing { fields.append(Field(name: .transferEncoding, value: "chunked")) }
        if closing { fields.append(Field(name: .connection, value: "close")) }
        do throws(WireError) {
            try ResponseHeadWriter.append(
                head.status, head.header, leavingOut: \.framesMessage, adding: fields, to: &pending)
        } catch {
            throw .refused(500, "could not write the response: \(error)")
        }
        guard case .truncateHead(let byte) = behavior.fault else {
            if behavior.fault?.bodyByte == nil { unrecordedStatus = head.status }
            if case .counted = framing { countedLength = length }
            return
        }
        pending.removeLast(max(0, pending.count - start - max(0, byte)))
        try flush(&input)
        throw .closed
    }

    /// Appends bytes of the body.
    ///
    /// Large amounts are sent immediately: otherwise a copy of each body would be kept for a client that does not read.
    mutating func append(body data: Data, input: inout RequestInput) throws(ConnectionEnd) {
        // Most bodies are short, and sent as a whole with their heads.
        if case .counted = framing, behavior.fault?.bodyByte == nil, pending.count + data.count < Self.pieceSize {
            data.withUnsafeBytes { pending.append(contentsOf: $0) }
            bodyBytes += data.count
            return
        }
        var remaining = data[...]
        while !remaining.isEmpty {
            var size = remaining.count
            if case .chunked(let sizes) = framing {
                if !sizes.isEmpty { size = max(1, sizes[min(chunkCount, sizes.count - 1)]) }
                encoder.begin(min(size, remaining.count), in: &pending)
                chunkCount += 1
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

    /// Appends the end of the body, and sends everything.
    mutating func appendEnd(trailers: Header, input: inout RequestInput) throws(ConnectionEnd) {
        // A fault at or beyond the last byte happens here.
        if behavior.fault?.bodyByte != nil { try fail(&input) }
        if case .chunked = framing {
            do throws(WireError) {
                try encoder.end(trailers: trailers, in: &pending)
            } catch {
                throw .closed
            }
        }
        if case .unsolicitedBytes(let bytes) = behavior.fault { pending += bytes }
        isComplete = true
        try flush(&input)
    }

    /// Sends the appended bytes in the middle of a body.
    ///
    /// With unsolicited bytes, everything is sent at once: a client that receives them later cannot distinguish them
    /// from a response.
    mutating func flushPart(_ input: inout RequestInput) throws(ConnectionEnd) {
        if case .unsolicitedBytes = behavior.fault { return }
        try flush(&input)
    }

    /// Sends the appended bytes at the pace of the behavior.
    mutating func flush(_ input: inout RequestInput) throws(ConnectionEnd) {
        defer { pending.removeAll(keepingCapacity: true) }
        let size = behavior.pace.map { max(1, $0.bytes) } ?? .max
        var remaining = pending[...]
        while remaining.count > size {
            try send(remaining.prefix(size), &input)
            remaining = remaining.dropFirst(size)
        }
        if isComplete || bodyBytes == countedLength, let status = unrecordedStatus.take() { record(status) }
        try send(remaining, &input)
    }

    private mutating func send(_ bytes: ArraySlice<UInt8>, _ input: inout RequestInput) throws(ConnectionEnd) {
        guard !bytes.isEmpty else { return }
        if hasSent, let pace = behavior.pace { try input.pause(until: .after(pace.interval)) }
        try connection.send(bytes)
        hasSent = true
    }

    /// Performs a fault that replaces the response, and returns whether the behavior has one.
    mutating func replaceResponse(_ input: inout RequestInput) throws(ConnectionEnd) -> Bool {
        switch behavior.fault {
        case .closeBeforeHead: throw .closed
        case .resetBeforeHead, .resetStream(_, nil): try reset()
        case .stallBeforeHead: try input.stall()
        case .raw(let bytes):
            pending += bytes
            try flush(&input)
            throw .closed
        case .rawWithoutClosing(let bytes):
            pending += bytes
            try flush(&input)
            return true
        default: return false
        }
    }

    private mutating func appendPayload(_ data: Data, _ input: inout RequestInput) throws(ConnectionEnd) {
        let limit = behavior.fault?.bodyByte.map { $0 - bodyBytes } ?? .max
        pending += data.prefix(limit)
        bodyBytes += min(limit, data.count)
        if limit < data.count { try fail(&input) }
    }

    /// Sends the appended bytes, and performs a fault inside the body.
    private mutating func fail(_ input: inout RequestInput) throws(ConnectionEnd) {
        try flush(&input)
        switch behavior.fault {
        case .resetBody, .resetStream: try reset()
        case .stallBody: try input.stall()
        default: break
        }
        throw .closed
    }

    private func reset() throws(ConnectionEnd) -> Never {
        try? connection.socket.setResetOnClose()
        throw .closed
    }

    private mutating func append(_ text: String) {
        pending += text.utf8
    }
}

extension Field.Name {
    /// Whether only the server sets the field of a response.
    var framesMessage: Bool {
        switch self {
        case .connection, .keepAlive, .contentLength, .transferEncoding: true
        default: false
        }
    }
}
