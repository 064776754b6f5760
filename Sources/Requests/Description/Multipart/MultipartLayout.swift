/// The pieces of a multipart body, in the order in which they are sent.
struct MultipartLayout: Sendable {
    enum Piece: Sendable {
        case bytes(Data)
        case body(RequestBody, length: Int?)
        case deferred(DeferredParts)
    }

    /// The maximum length in bytes of content that is copied next to its header; longer content is sent as it is
    /// (decision 0005).
    private static let maximumCopiedLength = 16 << 10

    private(set) var pieces: [Piece] = []
    /// The number of bytes; nil when the length of a piece is unknown or the sum overflows.
    private(set) var length: Int? = 0
    /// Whether all pieces can be produced again.
    private(set) var isReplayable = true
    private let boundary: String
    private let style: MultipartForm.Style
    private var buffer: [UInt8] = []

    init(boundary: String, style: MultipartForm.Style) {
        self.boundary = boundary
        self.style = style
    }

    /// Appends a part with its delimiter and header.
    ///
    /// - Throws: ``RequestError`` or ``BodyProvider/BodyError`` when the content cannot be read or the header is
    ///   invalid.
    mutating func append(_ part: MultipartForm.Part) throws {
        if case .deferred(let parts) = part.content {
            flush()
            length = nil
            return pieces.append(.deferred(parts))
        }
        buffer.append(contentsOf: "--".utf8)
        buffer.append(contentsOf: boundary.utf8)
        buffer.append(contentsOf: "\r\n".utf8)
        try part.appendHeader(in: style, to: &buffer)
        switch part.content {
        case .body(let body): append(body, length: try body.measuredLength())
        case .file(let url, let range):
            let body = RequestBody.file(path: try LocalFile.path(of: url), range: range)
            append(body, length: try body.measuredLength())
        case .deferred: break
        }
        buffer.append(contentsOf: "\r\n".utf8)
    }

    private mutating func append(_ body: RequestBody, length bodyLength: Int?) {
        switch body {
        case .none: return
        case .bytes(let data) where data.count <= Self.maximumCopiedLength: return buffer.append(contentsOf: data)
        case .bytes(let data):
            flush()
            pieces.append(.bytes(data))
        case .file, .stream:
            flush()
            pieces.append(.body(body, length: bodyLength))
            isReplayable = isReplayable && body.isReplayable
        }
        add(bodyLength)  // the buffered bytes are counted when they are flushed
    }

    /// Adds the length of a piece; nil if it is unknown.
    private mutating func add(_ count: Int?) {
        guard let count, let (sum, overflow) = length?.addingReportingOverflow(count), !overflow else {
            length = nil
            return
        }
        length = sum
    }

    /// Appends the closing delimiter of the form.
    mutating func close() {
        buffer.append(contentsOf: "--".utf8)
        buffer.append(contentsOf: boundary.utf8)
        buffer.append(contentsOf: "--\r\n".utf8)
        flush()
    }

    /// Moves the buffered bytes to a separate piece.
    mutating func flush() {
        guard !buffer.isEmpty else { return }
        add(buffer.count)
        pieces.append(.bytes(Data(buffer)))
        buffer = []
    }
}

/// A source of a multipart body; it holds one chunk of a file or stream at a time.
struct MultipartSource: RequestBody.Source {
    private let boundary: String
    private let style: MultipartForm.Style
    private var pieces: ArraySlice<MultipartLayout.Piece>
    private var current: (source: any RequestBody.Source, length: Int?, count: Int)?

    init(_ pieces: [MultipartLayout.Piece], boundary: String, style: MultipartForm.Style) {
        self.pieces = pieces[...]
        self.boundary = boundary
        self.style = style
    }

    mutating func next() async throws -> Data? {
        while true {
            if current != nil {
                if let chunk = try await nextOfCurrent() { return chunk }
                current = nil
            }
            guard let piece = pieces.popFirst() else { return nil }
            switch piece {
            case .bytes(let data): return data
            case .body(let body, let length): current = (try body.makeSource(), length, 0)
            case .deferred(let parts): pieces = try await layout(parts).pieces + pieces
            }
        }
    }

    /// Returns the next chunk of the current body; nil at its end.
    ///
    /// - Throws: `BodyProvider.BodyError.wrongLength` when the body does not have its declared length.
    private mutating func nextOfCurrent() async throws -> Data? {
        guard var reading = current else { return nil }
        // Stored again only if more can follow: a body that has ended or failed must not be read again.
        current = nil
        let chunk = try await reading.source.next()
        reading.count += chunk?.count ?? 0
        if let length = reading.length, reading.count > length || chunk == nil && reading.count < length {
            throw BodyProvider.BodyError.wrongLength(expected: length, found: reading.count)
        }
        if chunk != nil { current = reading }
        return chunk
    }

    /// Returns the layout of deferred parts.
    ///
    /// - Throws: `BodyProvider.BodyError.boundaryInContent`, because the boundary has already been sent.
    private func layout(_ deferred: DeferredParts) async throws -> MultipartLayout {
        let delimiter = BoundarySearch(boundary)
        var layout = MultipartLayout(boundary: boundary, style: style)
        for part in try await deferred.parts() {
            guard !part.contains(delimiter) else { throw BodyProvider.BodyError.boundaryInContent }
            try layout.append(part)
        }
        layout.flush()
        return layout
    }
}
