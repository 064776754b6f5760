import RequestsPOSIX

extension Upload {
    /// Returns the upload of `request`, after storing a streamed body; the request's deadline limits that.
    static func preparing(_ request: PreparedRequest, spoolLimit: Int) async throws(RequestError) -> Upload {
        guard case .stream(let length, _, let make) = request.body else { return try Upload(request.body) ?? .empty }
        return try await withDeadline(request.limit) { () async throws(RequestError) in
            var collected = CollectedBody(length: length, limit: spoolLimit)
            try await collected.fill(from: make)
            return try collected.finish()
        }
    }

    /// Creates the upload of a body that is still to be stored.
    ///
    /// It is sent chunked from the file at `path`, which ``spool(_:to:limit:)`` writes before the task is resumed.
    init(pendingFile path: String) {
        self.init(.stream { InputStream(fileAtPath: path) }, length: nil, spooled: SpooledFile(path: path))
    }

    /// Writes the streamed body of `request` to the file at `path`; the request's deadline limits that.
    static func spool(_ request: PreparedRequest, to path: String, limit: Int) async throws(RequestError) {
        guard case .stream(let length, _, let make) = request.body else { return }
        try await withDeadline(request.limit) { () async throws(RequestError) in
            var collected = try CollectedBody(length: length, limit: limit, path: path)
            try await collected.fill(from: make)
            try collected.finishFile()
        }
    }

    private static let empty = Upload(.none, length: 0)
}

/// Runs `operation` until the deadline.
///
/// Throws `timedOut(.total)` if the deadline passes first.
private func withDeadline<Value: Sendable>(
    _ deadline: Deadline, _ operation: @escaping @Sendable () async throws(RequestError) -> Value
) async throws(RequestError) -> Value {
    guard deadline != .distantFuture else { return try await operation() }
    return try await RequestError.wrapping(.other) {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await Task.sleep(until: deadline.instant, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() ?? nil else {
                throw RequestError(.timedOut(.total)).beforeSending()
            }
            return value
        }
    }
}

/// Runs `work`.
///
/// Throws its error as a `RequestError` whose detail is the description of that error.
private func describingFileErrors(_ work: () throws -> Void) throws(RequestError) {
    do {
        try work()
    } catch {
        throw RequestError(.fileAccessFailed, detail: "\(error)", underlying: error)
    }
}

/// A body while it is collected: up to 1 MiB in memory, more in a file that only its owner can read.
///
/// With a `length`, the body must have exactly that many bytes. All errors occur before anything is sent.
private struct CollectedBody: ~Copyable {
    private let length: Int?
    private let limit: Int
    private var data = Data()
    private var spool: Spool?
    private var count = 0

    init(length: Int?, limit: Int) {
        self.length = length
        self.limit = limit
        spool = nil
    }

    /// Creates a body that is collected in the file at `path`, beginning with its first byte.
    init(length: Int?, limit: Int, path: String) throws(RequestError) {
        self.length = length
        self.limit = limit
        spool = nil
        try describingFileErrors { spool = try Spool(at: path) }
    }

    /// Collects all the bytes of a source.
    mutating func fill(from make: @Sendable () throws -> sending any RequestBody.Source) async throws(RequestError) {
        var source = try RequestError.wrapping(.bodyEncodingFailed, make)
        do throws(RequestError) {
            if let length, length > limit { throw tooLarge }
            while let chunk = try await Self.next(of: &source) {
                // A source that never suspends must not occupy its thread.
                if try append(chunk) { await Task.yield() }
            }
            if let length, count < length {
                throw RequestError(
                    .bodyEncodingFailed,
                    detail: "the body is \(ErrorText.bytes(length - count)) shorter than its declared "
                        + ErrorText.bytes(length))
            }
        } catch {
            throw error.beforeSending()
        }
    }

    private static func next(of source: inout any RequestBody.Source) async throws(RequestError) -> Data? {
        if Task.isCancelled { throw RequestError(.cancelled) }
        do {
            return try await source.next()
        } catch {
            if Task.isCancelled { throw RequestError(.cancelled, underlying: error) }
            throw (error as? RequestError) ?? RequestError(.bodyEncodingFailed, underlying: error)
        }
    }

    /// Appends a chunk, and returns whether it was written to the file.
    private mutating func append(_ chunk: Data) throws(RequestError) -> Bool {
        count += chunk.count
        if let length, count > length {
            throw RequestError(
                .bodyEncodingFailed, detail: "the body is longer than its declared \(ErrorText.bytes(length))")
        }
        guard count <= limit else { throw tooLarge }
        guard spool != nil || count > Upload.memoryLimit else {
            data.append(chunk)
            return false
        }
        try describingFileErrors {
            if spool == nil {
                spool = try Spool()
                try data.withUnsafeBytes { try spool?.write($0) }
                data = Data()
            }
            try chunk.withUnsafeBytes { try spool?.write($0) }
        }
        return true
    }

    private var tooLarge: RequestError {
        RequestError(
            .tooLarge(limit: limit),
            detail: "the stored body of a stream is longer than \(ErrorText.bytes(limit)); see spoolLimit")
    }

    /// Returns the upload of the collected body.
    consuming func finish() throws(RequestError) -> Upload {
        let (length, count, data) = (length, count, data)
        guard let path = try finishFile() else {
            return Upload(length == nil ? .stream { InputStream(data: data) } : .data(data), length: count)
        }
        let content: Upload.Content = length == nil ? .stream { InputStream(fileAtPath: path) } : .file(path: path)
        return Upload(content, length: count, spooled: SpooledFile(path: path))
    }

    /// Closes the file, if there is one, and returns its path.
    @discardableResult
    consuming func finishFile() throws(RequestError) -> String? {
        guard let spool else { return nil }
        do throws(FileError) {
            return try spool.finish()
        } catch {
            throw RequestError(.bodyEncodingFailed, detail: error.description, underlying: error).beforeSending()
        }
    }
}
