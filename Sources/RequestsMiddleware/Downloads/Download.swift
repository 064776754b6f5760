internal import RequestsPOSIX

/// The files of one download: the bytes so far, their resume point, and the destination.
struct Download {
    private let path: String
    private let partialPath: String
    private let pointPath: String
    private var file: PartialFile?

    /// The number of bytes so far.
    private(set) var count: Int

    /// Opens the files that an earlier download to `path` has left.
    ///
    /// - Throws: `RequestError.Reason.fileAccessFailed` if another download to the same path is in progress, or if the
    ///   partial file is not a regular file.
    init(_ path: String) throws(RequestError) {
        self.path = path
        partialPath = path + ".partial"
        pointPath = path + ".partial.json"
        guard !path.isEmpty, !path.hasByteSuffix("/"), !path.utf8.contains(0) else {
            throw RequestError(.fileAccessFailed, detail: "the path is empty, ends in “/” or contains NUL")
                .beforeSending()
        }
        (file, count) = try Self.reporting {
            try FileError.checkReplaceable(path)
            let file = try PartialFile.open(path + ".partial", creating: false)
            return (file, Int(try file?.size() ?? 0))
        }
    }

    /// Returns the point at which to resume; nil if there are no bytes, or if a response from another target contained
    /// them.
    func point(for target: TargetURI) -> ResumePoint? {
        guard count > 0, let data = try? Data(contentsOf: URL(filePath: pointPath)),
            let point = try? JSONDecoder().decode(ResumePoint.self, from: data),
            point.version == ResumePoint.currentVersion, point.target.hasSameBytes(as: "\(target)")
        else { return nil }
        return point
    }

    /// Replaces the bytes so far with the body of `response`, the whole representation.
    ///
    /// If an error occurs, the received bytes are kept only if a later call can resume.
    mutating func replace(_ response: RawResponse) async throws(RequestError) {
        let point = ResumePoint(response)
        // Removed before the bytes change: an old resume point must never describe new bytes.
        try? FileManager.default.removeItem(atPath: pointPath)
        if file == nil {
            file = try Self.reporting { try PartialFile.open(partialPath, creating: true) }
        }
        try Self.reporting { try file?.truncate() }
        count = 0
        do throws(RequestError) {
            // Saved before the first byte: the bytes must match their resume point if the process ends at any time.
            if let point { try save(point) }
            try await append(response, until: nil)
        } catch {
            if point == nil { try? FileManager.default.removeItem(atPath: partialPath) }
            throw error
        }
    }

    /// Appends the body of `response` to the bytes so far.
    ///
    /// It must end before the byte `end` of the representation, if that is known.
    mutating func append(_ response: RawResponse, until end: Int?) async throws(RequestError) {
        guard let file else { return }
        let stream: ResponseStream
        switch response.body {
        case .stream(let body): stream = body
        case .bytes(let data): stream = ResponseStream(data)
        case .file:
            throw RequestError(.other, detail: "the executor delivered a file, not a stream", response: response.head)
        }
        do throws(RequestError) {
            while let chunk = try await stream.next() {
                guard end.map({ chunk.count <= $0 - count }) ?? true else {
                    throw RequestError(.protocolViolation, detail: "the body is longer than its Content-Range")
                }
                try Self.reporting {
                    try chunk.withUnsafeBytes { try file.append($0) }
                }
                count += chunk.count
            }
            if let end, count < end {
                throw RequestError(.connectionLost, detail: "the body is shorter than its Content-Range")
            }
        } catch {
            throw error.adding(response: response.head)
        }
    }

    /// Moves the file to its destination, and returns `response` changed to the response for the whole representation.
    func finished(_ response: RawResponse) throws(RequestError) -> RawResponse {
        if let file { try Self.reporting { try file.move(to: path) } }
        try? FileManager.default.removeItem(atPath: pointPath)
        var response = response
        if case .stream(let stream) = response.body { response.trailers = stream.trailers }
        if response.head.status == 206 || response.head.status == 416 {
            if response.head.status == 416 { response.head.header.remove(.contentType) }
            response.head.status = 200
            response.head.header.remove(.contentRange)
            response.head.header.set(Field(name: .contentLength, value: String(count)))
        }
        response.body = .file(path: path)
        return response
    }

    private func save(_ point: ResumePoint) throws(RequestError) {
        let data = try RequestError.wrapping(.other) { try JSONEncoder().encode(point) }
        try Self.reporting {
            var writer = try FileWriter(replacing: pointPath)
            try data.withUnsafeBytes { try writer.write($0) }
            try writer.finish()
        }
    }

    private static func reporting<Value>(_ body: () throws -> Value) throws(RequestError) -> Value {
        do {
            return try body()
        } catch {
            throw RequestError(.fileAccessFailed, detail: "\(error)", underlying: error)
        }
    }
}
