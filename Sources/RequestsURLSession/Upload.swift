@_spi(Lock) import Requests
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
    /// Why the body could not be read to its end while it was sent.
    let failure = UploadFailure()

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

    /// `body`, ready to be sent; nil when it has to be produced first.
    init?(_ body: RequestBody) throws(RequestError) {
        switch body {
        case .none: self.init(.none, length: 0)
        case .bytes(let data): self.init(.data(data), length: data.count)
        case .file(let path, let range): try self.init(file: path, range)
        case .stream: return nil
        }
    }

    /// The value of Content-Length; nil when the body is sent chunked.
    var announcedLength: Int? {
        if case .stream = content { nil } else { length }
    }
}

/// The error that ended the reading of a body while it was sent; the first one counts.
final class UploadFailure: Sendable {
    private let error = Lock<RequestError?>(nil)

    var value: RequestError? { error.withLock { $0 } }

    func set(_ error: RequestError) {
        self.error.withLock { $0 = $0 ?? error }
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
                let file = SpooledFile(path: try spool.finish())
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
