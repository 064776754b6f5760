import Dispatch

/// Functions for files that bodies are read from.
enum LocalFile {
    /// Returns the path of the file URL `url`.
    ///
    /// - Throws: `BodyProvider.BodyError.notAFileURL` if the URL has another scheme or none.
    static func path(of url: URL) throws(BodyProvider.BodyError) -> String {
        guard url.isFileURL else { throw .notAFileURL(scheme: url.scheme) }
        return url.absoluteURL.path(percentEncoded: false)
    }

    /// Returns the byte range to send from the file at `path`: `range`, or the whole file at its present size.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/fileAccessFailed`` if the file is missing, not
    ///   readable or not a regular file, or if it does not contain the range.
    static func extent(of path: String, _ range: Range<Int>?) throws(RequestError) -> Range<Int> {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw unreadable("the path is empty or contains NUL") }
        // `attributesOfItem` describes a symbolic link itself, not the file that it refers to.
        let resolved = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: resolved)
        } catch {
            throw unreadable("could not find or inspect \(ErrorText.quoted(path))", error)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular else {
            throw unreadable("\(ErrorText.quoted(path)) is not a regular file")
        }
        guard FileManager.default.isReadableFile(atPath: resolved) else {
            throw unreadable("\(ErrorText.quoted(path)) is not readable")
        }
        // The size is an NSNumber if the process has loaded all of Foundation, and an integer otherwise.
        let number = attributes[.size] as? Int ?? (attributes[.size] as? any BinaryInteger).map { Int(clamping: $0) }
        guard let size = number else { throw unreadable("\(ErrorText.quoted(path)) has an unknown size") }
        guard let range else { return 0..<size }
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw unreadable("byte range \(range) is outside the file of \(ErrorText.bytes(size))")
        }
        return range
    }

    /// Returns the error for a body file that cannot be read, marked as thrown before sending.
    static func unreadable(_ detail: String, _ error: (any Error)? = nil) -> RequestError {
        RequestError(.fileAccessFailed, detail: detail, underlying: error).beforeSending()
    }
}

/// A source that reads a file in chunks with `pread` on Dispatch's threads (decision 0005).
///
/// The file is not mapped, and no more than one chunk is in memory.
final class FileChunks: RequestBody.Source {
    private let channel: DispatchIO
    private let path: String
    private let end: Int
    private var position: Int
    private let chunkSize: Int

    /// Opens the file at `path` to read the bytes of `extent`.
    ///
    /// - Throws: ``RequestError`` with ``RequestError/Reason/fileAccessFailed``.
    init(path: String, extent: Range<Int>, chunkSize: Int = 256 << 10) throws(RequestError) {
        let absolute = URL(filePath: path).absoluteURL.path(percentEncoded: false)
        // The value of O_RDONLY: this module does not import libc.
        let readOnly: Int32 = 0
        let channel = DispatchIO(
            type: .random, path: absolute, oflag: readOnly, mode: 0, queue: .global(), cleanupHandler: { _ in })
        guard let channel else { throw LocalFile.unreadable("invalid file path \(ErrorText.quoted(path))") }
        self.channel = channel
        self.path = path
        self.chunkSize = chunkSize
        position = extent.lowerBound
        end = extent.upperBound
    }

    deinit {
        channel.close(flags: .stop)
    }

    func next() async throws -> Data? {
        guard position < end else { return nil }
        let chunk = try await read(min(chunkSize, end - position))
        guard !chunk.isEmpty else {
            let detail = "the file shrank while it was being sent: \(ErrorText.quoted(path))"
            throw RequestError(.bodyEncodingFailed, detail: detail)
        }
        position += chunk.count
        return chunk
    }

    private func read(_ count: Int) async throws -> Data {
        let gathered = GatheredBytes(capacity: count)
        return try await withCheckedThrowingContinuation { continuation in
            channel.read(offset: numericCast(position), length: count, queue: .global()) {
                [path] isDone, bytes, error in
                gathered.append(bytes)
                guard isDone else { return }
                if error == 0 {
                    continuation.resume(returning: gathered.data)
                } else {
                    let detail = "could not read \(ErrorText.quoted(path)) (errno \(error))"
                    continuation.resume(throwing: LocalFile.unreadable(detail))
                }
            }
        }
    }
}

/// The bytes of one read; Dispatch delivers them in pieces, in order.
private final class GatheredBytes: Sendable {
    private let bytes: Lock<Data>

    init(capacity: Int) {
        bytes = Lock(Data(capacity: capacity))
    }

    var data: Data { bytes.withLock { $0 } }

    func append(_ pieces: DispatchData?) {
        guard let pieces else { return }
        bytes.withLock { bytes in
            pieces.enumerateBytes { piece, _, _ in bytes.append(piece) }
        }
    }
}
