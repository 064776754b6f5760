import RequestsPOSIX

extension Upload {
    /// The body of `request`, ready to be sent; one that has to be produced is, by the request's deadline.
    static func preparing(_ request: PreparedRequest, spoolLimit: Int) async throws(RequestError) -> Upload {
        guard case .stream(let length, _, let make) = request.body else { return try Upload(request.body) ?? .empty }
        return try await withDeadline(request.deadline) { () async throws(RequestError) in
            var collected = CollectedBody(length: length, limit: spoolLimit)
            try await collected.fill(from: make)
            return try collected.finish()
        }
    }

    /// A body that has yet to be produced: sent chunked from the file at `path`, which ``spool(_:to:limit:)`` writes
    /// before the task is resumed.
    init(spooledLaterTo path: String) {
        self.init(.stream { InputStream(fileAtPath: path) }, length: nil, spooled: SpooledFile(path: path))
    }

    /// Writes the body of `request`, which has to be produced, to the file at `path`, by the request's deadline.
    static func spool(_ request: PreparedRequest, to path: String, limit: Int) async throws(RequestError) {
        guard case .stream(let length, _, let make) = request.body else { return }
        try await withDeadline(request.deadline) { () async throws(RequestError) in
            var collected = try CollectedBody(length: length, limit: limit, path: path)
            try await collected.fill(from: make)
            try collected.finishFile()
        }
    }

    private static let empty = Upload(.none, length: 0)
}

/// Runs `operation`, which ends with the deadline's error when that passes first.
private func withDeadline<Value: Sendable>(
    _ deadline: ContinuousClock.Instant?, _ operation: @escaping @Sendable () async throws(RequestError) -> Value
) async throws(RequestError) -> Value {
    guard let deadline else { return try await operation() }
    return try await RequestError.wrapping(.other) {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
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

/// A body while it is being collected: up to 1 MiB in memory, more in a file that only its owner can read.
///
/// With a `length` it must be exactly that many bytes. Nothing has been sent when something here throws.
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

    /// One that is collected in the file at `path` from its first byte.
    init(length: Int?, limit: Int, path: String) throws(RequestError) {
        self.length = length
        self.limit = limit
        spool = nil
        try RequestError.wrapping(.bodyNotEncoded) { spool = try Spool(at: path) }
    }

    /// Takes all that a source produces.
    mutating func fill(from make: @Sendable () throws -> sending any RequestBodySource) async throws(RequestError) {
        var source = try RequestError.wrapping(.bodyNotEncoded, make)
        do throws(RequestError) {
            if let length, length > limit { throw tooLarge }
            while let chunk = try await Self.next(of: &source) {
                // A source that never waits must not keep its thread from others.
                if try append(chunk) { await Task.yield() }
            }
            if let length, count < length {
                throw RequestError(
                    .bodyNotEncoded, detail: "the body is \(length - count) bytes shorter than the \(length) declared")
            }
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

    /// Takes a chunk; true when it went to the file.
    private mutating func append(_ chunk: Data) throws(RequestError) -> Bool {
        count += chunk.count
        if let length, count > length {
            throw RequestError(.bodyNotEncoded, detail: "the body is longer than the \(length) bytes declared")
        }
        guard count <= limit else { throw tooLarge }
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

    private var tooLarge: RequestError {
        RequestError(.tooLarge(limit: limit), detail: "the body of the request has to be stored before it is sent")
    }

    /// What has been collected, ready to be sent.
    consuming func finish() throws(RequestError) -> Upload {
        let (length, count, data) = (length, count, data)
        guard let path = try finishFile() else {
            return Upload(length == nil ? .stream { InputStream(data: data) } : .data(data), length: count)
        }
        let content: Upload.Content = length == nil ? .stream { InputStream(fileAtPath: path) } : .file(path: path)
        return Upload(content, length: count, spooled: SpooledFile(path: path))
    }

    /// Ends the file, if there is one, and gives its path.
    @discardableResult
    consuming func finishFile() throws(RequestError) -> String? {
        guard let spool else { return nil }
        do throws(FileError) {
            return try spool.finish()
        } catch {
            throw RequestError(.bodyNotEncoded, detail: error.description, underlying: error).beforeSending()
        }
    }
}
