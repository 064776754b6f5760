import RequestsPOSIX

/// A request's body in a form that URLSession sends, and how long it is.
struct Upload: Sendable {
    /// Bodies up to so many bytes are held in memory; longer ones are read from files.
    static let memoryLimit = 1 << 20

    let content: Content
    /// The number of bytes; nil when only sending will tell.
    let length: Int?
    /// Kept for as long as the file may be read.
    private let spooled: SpooledFile?

    enum Content: Sendable {
        case none
        /// Sent with Content-Length.
        case data(Data)
        /// A whole file, sent with Content-Length.
        case file(path: String)
        /// Sent chunked; a stream that never waits, made anew for each sending.
        case stream(@Sendable () -> sending InputStream?)
    }

    init(_ content: Content, length: Int?, spooled: SpooledFile? = nil) {
        self.content = content
        self.length = length
        self.spooled = spooled
    }

    /// `body`, ready to be sent.
    ///
    /// A body that has to be produced is, by `deadline`.
    static func preparing(
        _ body: RequestBody, by deadline: ContinuousClock.Instant?
    ) async throws(RequestError) -> Upload {
        switch body {
        case .none: return Upload(.none, length: 0)
        case .bytes(let data): return Upload(.data(data), length: data.count)
        case .file(let path, let range): return try Upload(file: path, range)
        case .stream(let length, _, let make):
            return try await withDeadline(deadline) { () async throws(RequestError) in
                try await Platform.upload(length: length, make)
            }
        }
    }

    /// The task that sends `request` with this body.
    func task(for request: URLRequest, in session: URLSession) -> URLSessionTask {
        var request = request
        switch content {
        case .none: break
        case .data(let data): request.httpBody = data
        case .stream(let make): request.httpBodyStream = make()
        case .file(let path): return session.uploadTask(with: request, fromFile: URL(filePath: path))
        }
        return session.dataTask(with: request)
    }
}

/// Runs `operation`, which ends with the deadline's error when that passes first.
private func withDeadline(
    _ deadline: ContinuousClock.Instant?, _ operation: @escaping @Sendable () async throws(RequestError) -> Upload
) async throws(RequestError) -> Upload {
    guard let deadline else { return try await operation() }
    return try await RequestError.wrapping(.other) {
        try await withThrowingTaskGroup(of: Upload?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            guard let upload = try await group.next() ?? nil else {
                throw RequestError(.timedOut(.total)).beforeSending()
            }
            return upload
        }
    }
}

// MARK: Files

extension Upload {
    /// A file, or a range of its bytes: a short one is read now, a long range copied, a long file sent as it is.
    fileprivate init(file path: String, _ range: Range<Int>?) throws(RequestError) {
        do throws(FileError) {
            let reader = try FileReader(path: path)
            let size = Int(clamping: reader.size)
            let range = range ?? 0..<size
            guard range.lowerBound >= 0, range.upperBound <= size else {
                throw FileError.invalidPath
            }
            if range.count <= Self.memoryLimit {
                var data = Data()
                try reader.forEachPiece(of: range) { piece throws(FileError) in data.append(contentsOf: piece) }
                self.init(.data(data), length: data.count)
            } else if range.count == size {
                self.init(.file(path: path), length: size)
            } else {
                var spool = try Spool()
                try reader.forEachPiece(of: range) { piece throws(FileError) in try spool.write(piece) }
                let file = try spool.finish()
                self.init(.file(path: file.path), length: range.count, spooled: file)
            }
        } catch {
            let detail = range.map { "bytes \($0) of \(path): \(error)" } ?? error.description
            throw RequestError(.invalidRequest(.unreadableFile), detail: detail, underlying: error).beforeSending()
        }
    }
}

extension FileReader {
    /// Reads `range` in pieces; a file that ends before is an error.
    fileprivate borrowing func forEachPiece(
        of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
    ) throws(FileError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(256 << 10, max(1, range.count)), alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(range.upperBound - offset))
            let count = try read(into: room, at: Int64(offset))
            guard count > 0 else { throw FileError.invalidPath }
            try body(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
            offset += count
        }
    }
}

// MARK: Produced bodies

extension Upload {
    /// What a source produces: up to 1 MiB in memory, more in a file that only its owner can read.
    ///
    /// With a `length` it must be exactly that many bytes. Nothing has been sent when this throws.
    init(
        collecting make: @Sendable () throws -> sending any RequestBodySource, length: Int?
    ) async throws(RequestError) {
        var source = try RequestError.wrapping(.bodyNotEncoded, make)
        var collected = CollectedBody(length: length)
        do throws(RequestError) {
            while let chunk = try await Self.next(of: &source) {
                // A source that never waits must not keep its thread from others.
                if try collected.append(chunk) { await Task.yield() }
            }
            self = try collected.finish()
        } catch {
            throw error.beforeSending()
        }
    }

    private static func next(of source: inout any RequestBodySource) async throws(RequestError) -> Data? {
        if Task.isCancelled { throw RequestError(.cancelled) }
        do {
            return try await source.next()
        } catch {
            if Task.isCancelled { throw RequestError(.cancelled, underlying: error) }
            throw (error as? RequestError) ?? RequestError(.bodyNotEncoded, underlying: error)
        }
    }
}

/// A body while it is being collected.
private struct CollectedBody: ~Copyable {
    private let length: Int?
    private var data = Data()
    private var spool: Spool?
    private var count = 0

    init(length: Int?) {
        self.length = length
        spool = nil
    }

    /// Takes a chunk; true when it went to the file.
    mutating func append(_ chunk: Data) throws(RequestError) -> Bool {
        count += chunk.count
        if let length, count > length {
            throw RequestError(.bodyNotEncoded, detail: "the body is longer than the \(length) bytes declared")
        }
        guard spool != nil || count > Upload.memoryLimit else {
            data.append(chunk)
            return false
        }
        try RequestError.wrapping(.bodyNotEncoded) {
            if spool == nil {
                spool = try Spool()
                try data.withUnsafeBytes { try spool?.write($0) }
                data = Data()
            }
            try chunk.withUnsafeBytes { try spool?.write($0) }
        }
        return true
    }

    consuming func finish() throws(RequestError) -> Upload {
        let (length, count) = (length, count)
        if let length, count < length {
            throw RequestError(
                .bodyNotEncoded, detail: "the body is \(length - count) bytes shorter than the \(length) declared")
        }
        guard let spool else {
            let data = data
            return Upload(length == nil ? .stream { InputStream(data: data) } : .data(data), length: count)
        }
        let file: SpooledFile
        do throws(FileError) {
            file = try spool.finish()
        } catch {
            throw RequestError(.bodyNotEncoded, detail: error.description, underlying: error)
        }
        let path = file.path
        let content: Upload.Content = length == nil ? .stream { InputStream(fileAtPath: path) } : .file(path: path)
        return Upload(content, length: count, spooled: file)
    }
}
