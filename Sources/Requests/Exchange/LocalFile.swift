import Dispatch

/// A file as the content of a body: where it is, how long it is, and its bytes in chunks.
enum LocalFile {
    /// The path that `url` names.
    ///
    /// - Throws: `InvalidBody.notAFileURL`.
    static func path(of url: URL) throws(InvalidBody) -> String {
        guard url.isFileURL else { throw .notAFileURL(scheme: url.scheme) }
        return url.absoluteURL.path(percentEncoded: false)
    }

    /// The bytes of the file at `path` that are meant: `range`, or all it has now.
    ///
    /// - Throws: ``RequestError`` with ``InvalidRequest/unreadableFile`` when there is no readable regular file, or it is
    ///   shorter than the range.
    static func extent(of path: String, _ range: Range<Int>?) throws(RequestError) -> Range<Int> {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw unreadable("not a path") }
        let resolved = URL(filePath: path).resolvingSymlinksInPath().path(percentEncoded: false)
        let attributes: [FileAttributeKey: Any]
        do {
            attributes = try FileManager.default.attributesOfItem(atPath: resolved)
        } catch {
            throw unreadable("there is no file at \(path)", error)
        }
        guard attributes[.type] as? FileAttributeType == .typeRegular else {
            throw unreadable("no regular file: \(path)")
        }
        guard FileManager.default.isReadableFile(atPath: resolved) else { throw unreadable("not readable: \(path)") }
        // The number is an NSNumber where all of Foundation is loaded, and an integer where it is not.
        let number = attributes[.size] as? Int ?? (attributes[.size] as? any BinaryInteger).map { Int(clamping: $0) }
        guard let size = number else { throw unreadable("the size is unknown: \(path)") }
        guard let range else { return 0..<size }
        guard range.lowerBound >= 0, range.upperBound <= size else {
            throw unreadable("the file has \(size) bytes, not those of \(range)")
        }
        return range
    }

    static func unreadable(_ detail: String, _ error: (any Error)? = nil) -> RequestError {
        RequestError(.invalidRequest(.unreadableFile), detail: detail, underlying: error).beforeSending()
    }
}

/// The bytes of a file in chunks, read by Dispatch's threads with `pread`: never mapped, never more than one chunk held.
final class FileChunks: RequestBodySource {
    private let channel: DispatchIO
    private let path: String
    private let end: Int
    private var position: Int
    private let chunkSize: Int

    /// Opens the file at `path` to read the bytes of `extent`.
    ///
    /// - Throws: ``RequestError`` with ``InvalidRequest/unreadableFile``.
    init(path: String, extent: Range<Int>, chunkSize: Int = 256 << 10) throws(RequestError) {
        let absolute = URL(filePath: path).absoluteURL.path(percentEncoded: false)
        let readOnly: Int32 = 0
        let channel = DispatchIO(
            type: .random, path: absolute, oflag: readOnly, mode: 0, queue: .global(), cleanupHandler: { _ in })
        guard let channel else { throw LocalFile.unreadable("not a path: \(path)") }
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
            throw RequestError(.bodyNotEncoded, detail: "the file became shorter while it was sent: \(path)")
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
                    continuation.resume(throwing: LocalFile.unreadable("error \(error) reading \(path)"))
                }
            }
        }
    }
}

/// The pieces of one read, put together in the order they come.
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
