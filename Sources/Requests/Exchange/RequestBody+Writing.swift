import Dispatch

extension RequestBody {
    /// Writes the bytes of this body to the file at `url`, which appears whole; a body that has none writes an empty file.
    ///
    /// For servers that take only bodies of known length: what was written can be sent with ``RequestBody/file(path:range:)``.
    /// One chunk at a time is held. The bytes go to a file next to it first, which is removed when anything fails; then it
    /// takes the place of what was there.
    ///
    /// - Throws: ``RequestError``: ``RequestError/Reason/bodyNotEncoded`` with what the body, or the file system, says.
    @concurrent
    public func write(to url: URL) async throws(RequestError) {
        try await RequestError.wrapping(.bodyNotEncoded) {
            let path = try LocalFile.path(of: url)
            let expected = try measuredLength()
            let draft = path + ".part-" + UUID().uuidString
            try Data().write(to: URL(filePath: draft))
            do {
                let written = try await write(toDraft: draft)
                if let expected, written != expected {
                    throw InvalidBody.wrongLength(expected: expected, found: written)
                }
                try LocalFile.move(draft, to: path)
            } catch {
                try? FileManager.default.removeItem(atPath: draft)
                throw error
            }
        }
    }

    private func write(toDraft path: String) async throws -> Int {
        let file = try FileSink(path: path)
        var source = try makeSource()
        var count = 0
        while let chunk = try await source.next() {
            try Task.checkCancellation()
            try await file.write(chunk, at: count)
            count += chunk.count
        }
        return count
    }
}

/// A file that is there already and is written by Dispatch's threads.
private final class FileSink {
    private let channel: DispatchIO

    init(path: String) throws(RequestError) {
        let absolute = URL(filePath: path).absoluteURL.path(percentEncoded: false)
        let writeOnly: Int32 = 1
        let channel = DispatchIO(
            type: .random, path: absolute, oflag: writeOnly, mode: 0, queue: .global(), cleanupHandler: { _ in })
        guard let channel else { throw RequestError(.bodyNotEncoded, detail: "not a path: \(path)") }
        self.channel = channel
    }

    deinit {
        channel.close(flags: .stop)
    }

    func write(_ chunk: Data, at position: Int) async throws {
        let bytes = chunk.withUnsafeBytes { DispatchData(bytes: $0) }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            channel.write(offset: numericCast(position), data: bytes, queue: .global()) { isDone, _, error in
                guard isDone else { return }
                if error == 0 {
                    continuation.resume()
                } else {
                    continuation.resume(throwing: RequestError(.bodyNotEncoded, detail: "error \(error) writing"))
                }
            }
        }
    }
}

extension LocalFile {
    /// Puts the file at `draft` in the place of what is at `path`.
    fileprivate static func move(_ draft: String, to path: String) throws {
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: draft, toPath: path)
    }
}
