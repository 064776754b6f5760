internal import RequestsPOSIX

/// The files of one download: the bytes so far, what they are of, and where they are to go.
struct Download {
    private let path: String
    private let partialPath: String
    private let pointPath: String
    private var file: PartialFile?

    /// How many bytes there are.
    private(set) var count: Int

    /// Finds what an earlier download to `path` has left.
    ///
    /// - Throws: `RequestError.Reason.other` when another download to the same path is under way, or there is something
    ///   that is no file.
    init(_ path: String) throws(RequestError) {
        self.path = path
        partialPath = path + ".partial"
        pointPath = path + ".partial.json"
        guard !path.isEmpty, !path.hasByteSuffix("/"), !path.utf8.contains(0) else {
            throw RequestError(.other, detail: "not a path of a file").beforeSending()
        }
        (file, count) = try Self.reporting {
            let file = try PartialFile.open(path + ".partial", creating: false)
            return (file, Int(try file?.size() ?? 0))
        }
    }

    /// Where to go on, when what there is began as an answer to `target` and is not empty.
    func point(for target: TargetURI) -> ResumePoint? {
        guard count > 0, let data = try? Data(contentsOf: URL(filePath: pointPath)),
            let point = try? JSONDecoder().decode(ResumePoint.self, from: data),
            OctetText.areEqual(point.target, "\(target)")
        else { return nil }
        return point
    }

    /// Puts the body of `response`, which is the whole, in the place of what there is.
    ///
    /// What arrives before an error stays only when a later call can go on with it.
    mutating func replace(_ response: RawResponse) async throws(RequestError) {
        let point = ResumePoint(response)
        try? FileManager.default.removeItem(atPath: pointPath)
        if file == nil {
            file = try Self.reporting { try PartialFile.open(partialPath, creating: true) }
        }
        try Self.reporting { try file?.truncate() }
        count = 0
        do throws(RequestError) {
            if let point { try save(point) }
            try await append(response, until: nil)
        } catch {
            if point == nil { try? FileManager.default.removeItem(atPath: partialPath) }
            throw error
        }
    }

    /// Puts the body of `response` behind what there is; it must end before the byte `end` of the whole, if one is given.
    mutating func append(_ response: RawResponse, until end: Int?) async throws(RequestError) {
        guard let file else { return }
        let stream: ResponseStream
        switch response.body {
        case .stream(let body): stream = body
        case .bytes(let data): stream = ResponseStream(data)
        case .file: throw RequestError(.other, detail: "the executor has written a file", response: response.head)
        }
        do throws(RequestError) {
            while let chunk = try await stream.next() {
                guard end.map({ chunk.count <= $0 - count }) ?? true else {
                    throw RequestError(.protocolViolation, detail: "more bytes than Content-Range says")
                }
                try Self.reporting {
                    try chunk.withUnsafeBytes { try file.append($0) }
                }
                count += chunk.count
            }
            if let end, count < end {
                throw RequestError(.connectionLost, detail: "fewer bytes than Content-Range says")
            }
        } catch {
            throw error.adding(response: response.head)
        }
    }

    /// Puts the file in its place, and makes `response` that of the whole.
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
            throw RequestError(.other, detail: "\(error)", underlying: error)
        }
    }
}
