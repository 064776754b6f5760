import Requests
import RequestsPOSIX

extension Transfer {
    /// The bytes of a file that are read and sent at once: they fit in a cache, and use little memory (decision 0014).
    private static var pieceSize: Int { 512 << 10 }
    /// The bytes of a file that the kernel is requested to send at once.
    private static var sentSize: Int64 { 1 << 20 }
    /// The size up to which a file is read, so that it is sent with the head in one system call.
    private static var smallFile: Int { 64 << 10 }

    /// Sends the `range` of a file; `isWhole` is whether this was the whole file when it was opened.
    mutating func push(
        _ head: [UInt8], _ file: OpenFile, _ range: Range<Int64>, _ isWhole: Bool
    ) async throws(RequestError) -> Bool {
        guard range.count > Self.smallFile, connection.fileSending == .byKernel else {
            return try await push(head, copying: file, range, isWhole)
        }
        guard try await push(head, Data()), let end = try await sendFile(file, range, isWhole) else { return false }
        return try await push([], copying: file, end..<range.upperBound, isWhole)
    }

    /// Sends the file with sendfile, and returns the position reached; nil if the upload ends here.
    ///
    /// The position is not the end only if the kernel cannot send this kind of file.
    private mutating func sendFile(
        _ file: OpenFile, _ range: Range<Int64>, _ isWhole: Bool
    ) async throws(RequestError) -> Int64? {
        var position = range.lowerBound
        let end = range.upperBound
        while position < end {
            let count = Int(min(Self.sentSize, end - position))
            if isWhole, position + Int64(count) == end { try checkEnd(of: file, at: end) }
            let result: TransferResult
            do throws(SystemError) {
                result = try connection.channel.writeFile(file.reader, from: position, count: count)
            } catch {
                if error.isNotSupportedByFile { return position }
                sendFailure = error
                return nil
            }
            if case .bytes(0) = result { throw Self.fileShrank }
            guard try await continueSending(after: result, from: &position, to: end) else { return nil }
        }
        return position
    }

    /// Records what was sent of a file, and waits if necessary; returns false if the upload ends here.
    private mutating func continueSending(
        after result: TransferResult, from position: inout Int64, to end: Int64
    ) async throws(RequestError) -> Bool {
        guard case .bytes(let sent) = result else {
            if try hasResponse() { return false }
            try await take(pauseWhileFull)
            return try !hasResponse()
        }
        position += Int64(sent)
        written += sent
        reporter.addSent(sent)
        if position < end, try hasResponse() { return false }
        recordWork(sent)
        if isBudgetSpent { try await take(.yield) }
        return true
    }

    /// Sends a file by reading it into memory.
    private mutating func push(
        _ head: [UInt8], copying file: OpenFile, _ range: Range<Int64>, _ isWhole: Bool
    ) async throws(RequestError) -> Bool {
        let piece = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, min(Self.pieceSize, range.count)), alignment: 1)
        defer { piece.deallocate() }
        var prefix = head
        var position = range.lowerBound
        while position < range.upperBound {
            let room = UnsafeMutableRawBufferPointer(rebasing: piece.prefix(Int(range.upperBound - position)))
            let count = try read(file, into: room, at: position)
            position += Int64(count)
            if position == range.upperBound, isWhole { try checkEnd(of: file, at: position) }
            guard count > 0, let start = piece.baseAddress else { throw Self.fileShrank }
            // Not a copy: `push` does not keep the part.
            let part = Data(bytesNoCopy: start, count: count, deallocator: .none)
            guard try await push(prefix, part) else { return false }
            prefix = []
            if position < range.upperBound, try hasResponse() { return false }
        }
        return prefix.isEmpty ? true : try await push(prefix, Data())
    }

    private func read(
        _ file: OpenFile, into room: UnsafeMutableRawBufferPointer, at position: Int64
    ) throws(RequestError) -> Int {
        do throws(FileError) {
            return try file.reader.read(into: room, at: position)
        } catch {
            throw RequestError(.fileAccessFailed, detail: error.description, underlying: error)
        }
    }

    /// Throws if the file has grown; called before the last bytes are sent, so that the server never takes the
    /// beginning of a longer file for the whole.
    private func checkEnd(of file: OpenFile, at position: Int64) throws(RequestError) {
        var byte: UInt8 = 0
        let count = try withUnsafeMutableBytes(of: &byte) { (room) throws(RequestError) in
            try read(file, into: room, at: position)
        }
        guard count == 0 else {
            throw RequestError(.bodyEncodingFailed, detail: "the file grew while it was being sent")
        }
    }

    private static var fileShrank: RequestError {
        RequestError(.bodyEncodingFailed, detail: "the file shrank while it was being sent")
    }
}

/// The way in which the bytes of a larger file are sent.
package enum FileSending: CaseIterable, Sendable {
    /// With sendfile, which lends the file's pages to the connection.
    case byKernel
    /// Read in pieces into one buffer, and sent from there.
    case copied
}

extension Connection {
    /// The way for this connection: to another machine, sendfile saves a copy.
    ///
    /// To a peer on this machine all bytes are copied in any case, and faster from one buffer, which stays in the
    /// cache, than from the file's pages (decision 0014).
    fileprivate var fileSending: FileSending {
        if let way = slot.pool.configuration.fileSending { return way }
        return (try? channel.socket.peerAddress())?.isLocal == true ? .copied : .byKernel
    }
}
