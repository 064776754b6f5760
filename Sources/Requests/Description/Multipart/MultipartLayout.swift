/// The pieces of a multipart body in the order they are sent.
struct MultipartLayout: Sendable {
    enum Piece: Sendable {
        case bytes(Data)
        case body(RequestBody, length: Int?)
        case deferred(DeferredParts)
    }

    /// Contents up to so many bytes are copied next to their headers; larger ones are sent as they are.
    private static let largestCopied = 16 << 10

    private(set) var pieces: [Piece] = []
    /// The number of bytes; nil when a piece does not tell.
    private(set) var length: Int? = 0
    private(set) var isReplayable = true
    private let boundary: String
    private let style: MultipartStyle
    private var buffer: [UInt8] = []

    init(boundary: String, style: MultipartStyle) {
        self.boundary = boundary
        self.style = style
    }

    mutating func append(_ part: MultipartPart) throws {
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
        case .bytes(let data) where data.count <= Self.largestCopied: return buffer.append(contentsOf: data)
        case .bytes(let data):
            flush()
            pieces.append(.bytes(data))
        case .file, .stream:
            flush()
            pieces.append(.body(body, length: bodyLength))
            isReplayable = isReplayable && body.isReplayable
        }
        length = bodyLength.flatMap { own in
            length.flatMap { sum in
                let (total, overflow) = sum.addingReportingOverflow(own)
                return overflow ? nil : total
            }
        }
    }

    /// Appends the line that ends the form.
    mutating func close() {
        buffer.append(contentsOf: "--".utf8)
        buffer.append(contentsOf: boundary.utf8)
        buffer.append(contentsOf: "--\r\n".utf8)
        flush()
    }

    /// Makes what has been gathered a piece of its own.
    mutating func flush() {
        guard !buffer.isEmpty else { return }
        length = length.map { $0 + buffer.count }
        pieces.append(.bytes(Data(buffer)))
        buffer = []
    }
}

/// Produces a multipart body piece by piece; of files and streams one chunk at a time is held.
struct MultipartSource: RequestBodySource {
    private let boundary: String
    private let style: MultipartStyle
    private var pieces: ArraySlice<MultipartLayout.Piece>
    private var current: (source: any RequestBodySource, length: Int?, count: Int)?

    init(_ pieces: [MultipartLayout.Piece], boundary: String, style: MultipartStyle) {
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

    private mutating func nextOfCurrent() async throws -> Data? {
        guard var reading = current else { return nil }
        current = nil
        let chunk = try await reading.source.next()
        reading.count += chunk?.count ?? 0
        if let length = reading.length, reading.count > length || chunk == nil && reading.count < length {
            throw InvalidBody.wrongLength(expected: length, found: reading.count)
        }
        if chunk != nil { current = reading }
        return chunk
    }

    private func layout(_ deferred: DeferredParts) async throws -> MultipartLayout {
        let delimiter = BoundarySearch(boundary)
        var layout = MultipartLayout(boundary: boundary, style: style)
        for part in try await deferred.parts() {
            guard !part.holds(delimiter) else { throw InvalidBody.boundaryInContent }
            try layout.append(part)
        }
        layout.flush()
        return layout
    }
}
