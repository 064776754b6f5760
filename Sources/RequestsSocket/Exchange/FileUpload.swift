import Requests
import RequestsPOSIX

/// A body from a file, which is read in pieces, or sent by the carrier without reading it.
struct FileUpload: Sendable {
    enum Next {
        case piece(Data)
        /// A range, which the carrier sends without reading it.
        case range(OpenFile, from: Int64, count: Int)
    }

    /// The bytes that are read and sent at once: they fit in a cache, and use little memory (decision 0014).
    private static let pieceSize = 512 << 10
    /// The number of bytes that the kernel sends at once.
    private static let sentSize: Int64 = 1 << 20

    private let file: OpenFile
    private var position: Int64
    private let end: Int64
    /// Whether this was the whole file when it was opened.
    private let isWhole: Bool
    private var isRead: Bool
    private var piece: PieceMemory?

    init(_ file: OpenFile, _ range: Range<Int64>, isWhole: Bool, isRead: Bool) {
        self.file = file
        position = range.lowerBound
        end = range.upperBound
        self.isWhole = isWhole
        self.isRead = isRead
    }

    /// Whether all pieces have been returned, or sent.
    var isComplete: Bool { position == end }

    /// Returns the next part; the memory of the piece before it is reused.
    mutating func next() throws(RequestError) -> Next {
        guard isRead else {
            if isWhole, end - position <= Self.sentSize { try checkEnd() }
            return .range(file, from: position, count: Int(min(Self.sentSize, end - position)))
        }
        guard position < end else { return .piece(Data()) }
        let memory = piece ?? PieceMemory(Int(min(Int64(Self.pieceSize), end - position)))
        piece = memory
        let count = try read(into: memory.prefix(end - position), at: position)
        guard count > 0 else { throw Self.shrank }
        position += Int64(count)
        if position == end, isWhole { try checkEnd() }
        return .piece(memory.bytes(count))
    }

    /// Records that the carrier sent `count` bytes; nil if it cannot send this file, which is read from now on.
    mutating func advance(_ count: Int?) throws(RequestError) {
        guard let count else {
            isRead = true
            return
        }
        guard count > 0 else { throw Self.shrank }
        position += Int64(count)
    }

    private func read(
        into room: UnsafeMutableRawBufferPointer, at position: Int64
    ) throws(RequestError) -> Int {
        do throws(FileError) {
            return try file.reader.read(into: room, at: position)
        } catch {
            throw RequestError(error)
        }
    }

    /// Throws if the file has grown.
    ///
    /// This is checked before the last bytes are sent, so that the server never takes the beginning of a longer file
    /// for the whole.
    private func checkEnd() throws(RequestError) {
        var byte: UInt8 = 0
        let count = try withUnsafeMutableBytes(of: &byte) { (room) throws(RequestError) in
            try read(into: room, at: end)
        }
        guard count == 0 else {
            throw RequestError(.bodyEncodingFailed, detail: "the file grew while it was being sent")
        }
    }

    private static var shrank: RequestError {
        RequestError(.bodyEncodingFailed, detail: "the file shrank while it was being sent")
    }
}

/// A method of sending the bytes of a larger file.
package enum FileSending: CaseIterable, Sendable {
    /// The kernel sends the file's pages (sendfile).
    case byKernel
    /// The bytes are read in pieces into one buffer and sent from there.
    case copied
}
