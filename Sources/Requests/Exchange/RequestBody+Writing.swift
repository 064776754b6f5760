import Dispatch

extension RequestBody {
    /// Writes the bytes of this body to the file at `url`, replacing an existing file; a body without bytes writes an
    /// empty file.
    ///
    /// Use this for servers that accept only bodies of known length, and send the file with
    /// ``RequestBody/file(path:range:)``. One chunk is in memory at a time. The bytes are written to a temporary file
    /// in the same directory, which then replaces the file at `url`. If writing fails, the temporary file is removed.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/fileAccessFailed`` and the error of the file system, or
    ///   with ``RequestError/Reason/bodyEncodingFailed`` and the error of the body. A `RequestError` of the body is
    ///   thrown as it is.
    @concurrent
    public func write(to url: URL) async throws(RequestError) {
        try await RequestError.wrapping(.bodyEncodingFailed) {
            let path = try LocalFile.path(of: url)
            let expected = try measuredLength()
            let temporaryPath = path + ".part-" + UUID().uuidString
            try RequestError.wrapping(.fileAccessFailed) { try Data().write(to: URL(filePath: temporaryPath)) }
            do {
                let written = try await write(toExistingFileAt: temporaryPath)
                if let expected, written != expected {
                    throw BodyProvider.BodyError.wrongLength(expected: expected, found: written)
                }
                try RequestError.wrapping(.fileAccessFailed) { try LocalFile.move(temporaryPath, to: path) }
            } catch {
                try? FileManager.default.removeItem(atPath: temporaryPath)
                throw error
            }
        }
    }

    /// Writes the bytes to the file at `path`, and returns their number.
    private func write(toExistingFileAt path: String) async throws -> Int {
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

/// An existing file that is written by Dispatch's threads.
private final class FileSink {
    private let channel: DispatchIO

    init(path: String) throws(RequestError) {
        let absolute = URL(filePath: path).absoluteURL.path(percentEncoded: false)
        // The value of O_WRONLY: this module does not import libc.
        let writeOnly: Int32 = 1
        let channel = DispatchIO(
            type: .random, path: absolute, oflag: writeOnly, mode: 0, queue: .global(), cleanupHandler: { _ in })
        guard let channel else {
            throw RequestError(.fileAccessFailed, detail: "invalid file path \(ErrorText.quoted(path))")
        }
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
                    let detail = "could not write the file (errno \(error))"
                    continuation.resume(throwing: RequestError(.fileAccessFailed, detail: detail))
                }
            }
        }
    }
}

extension LocalFile {
    /// Moves the file at `source` to `path`, replacing an existing file.
    fileprivate static func move(_ source: String, to path: String) throws {
        // `moveItem` does not replace a file.
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: source, toPath: path)
    }
}
