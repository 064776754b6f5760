@_spi(Lock) import Requests
import RequestsPOSIX

/// A request body in a form that URLSession sends, with its length.
struct Upload: Sendable {
    /// The maximum size in bytes of a body in memory; longer ones are read from files.
    static let memoryLimit = 1 << 20

    let content: Content
    /// The number of bytes; nil if it is known only once the body has been sent.
    let length: Int?
    /// The file with a stored body, which is removed when this value is released.
    private let spooled: SpooledFile?
    /// The error, if any, that ended reading the body while it was sent.
    let failure = UploadFailure()

    enum Content: Sendable {
        case none
        /// Bytes in memory, sent with Content-Length.
        case data(Data)
        /// A whole file, sent with Content-Length.
        case file(path: String)
        /// A stream that never waits; each transmission creates a new one and sends it chunked.
        case stream(@Sendable () -> sending InputStream?)
    }

    init(_ content: Content, length: Int?, spooled: SpooledFile? = nil) {
        self.content = content
        self.length = length
        self.spooled = spooled
    }

    /// Creates the upload of `body`; nil if the body has to be produced first.
    init?(_ body: RequestBody) throws(RequestError) {
        switch body {
        case .none: self.init(.none, length: 0)
        case .bytes(let data): self.init(.data(data), length: data.count)
        case .file(let path, let range): try self.init(file: path, range)
        case .stream: return nil
        }
    }

    /// The value of Content-Length; nil if the body is sent chunked.
    var declaredLength: Int? {
        if case .stream = content { nil } else { length }
    }
}

/// The first error of reading a body while it was sent.
final class UploadFailure: Sendable {
    private let error = Lock<RequestError?>(nil)

    var value: RequestError? { error.withLock { $0 } }

    func set(_ error: RequestError) {
        self.error.withLock { $0 = $0 ?? error }
    }
}

// MARK: Files

extension Upload {
    /// Creates the upload of a file, or of a byte range in it.
    ///
    /// Up to 1 MiB is read into memory now. A longer range is copied to a temporary file, and a longer whole file is
    /// sent in place.
    fileprivate init(file path: String, _ range: Range<Int>?) throws(RequestError) {
        do {
            let reader = try FileReader(path: path)
            let size = Int(clamping: reader.size)
            let range = range ?? 0..<size
            guard range.lowerBound >= 0, range.upperBound <= size else {
                throw RequestError(
                    .fileAccessFailed,
                    detail: "\(ErrorText.quoted(path)): byte range \(range) is outside the file of "
                        + ErrorText.bytes(size))
            }
            if range.count <= Self.memoryLimit {
                var data = Data()
                try reader.forEachPiece(of: range) { piece throws(FileError) in data.append(contentsOf: piece) }
                self.init(.data(data), length: data.count)
            } else if range.count == size {
                self.init(.file(path: path), length: size)
            } else {
                // URLSession sends whole files only.
                var spool = try Spool()
                try reader.forEachPiece(of: range) { piece throws(FileError) in try spool.write(piece) }
                let file = SpooledFile(path: try spool.finish())
                self.init(.file(path: file.path), length: range.count, spooled: file)
            }
        } catch let error as RequestError {
            throw error.beforeSending()
        } catch {
            let detail = range.map { "byte range \($0): \(error)" } ?? "\(error)"
            throw RequestError(.fileAccessFailed, detail: detail, underlying: error).beforeSending()
        }
    }
}

extension FileReader {
    /// Calls `body` with the bytes of `range`, in pieces of at most 256 KiB.
    ///
    /// - Throws: A `RequestError` if the file has shrunk since it was opened, or the `FileError` of reading it or of
    ///   `body`.
    fileprivate borrowing func forEachPiece(
        of range: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(FileError) -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(256 << 10, max(1, range.count)), alignment: 16)
        defer { buffer.deallocate() }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(range.upperBound - offset))
            let count = try read(into: piece, at: Int64(offset))
            guard count > 0 else {
                throw RequestError(
                    .fileAccessFailed,
                    detail: "\(ErrorText.quoted(path)): the file shrank while it was being read")
            }
            try body(UnsafeRawBufferPointer(rebasing: piece.prefix(count)))
            offset += count
        }
    }
}
