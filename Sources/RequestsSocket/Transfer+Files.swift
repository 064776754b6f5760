import Requests
import RequestsPOSIX

extension Transfer {
    /// Bytes of a file that are read and sent at once: what a cache holds, and little of the process's memory.
    private static var pieceSize: Int { 512 << 10 }
    /// Bytes of a file that the kernel is asked to send at once.
    private static var sentSize: Int64 { 1 << 20 }
    /// Bytes of a file that is worth reading, so that it goes out with the head in one system call.
    private static var smallFile: Int { 64 << 10 }

    /// Sends the `range` of a file; `isWhole` tells that this was all of it when it was opened.
    mutating func push(
        _ head: [UInt8], _ file: OpenFile, _ range: Range<Int64>, _ isWhole: Bool
    ) async throws(RequestError) -> Bool {
        guard range.count > Self.smallFile, connection.fileSending == .byKernel else {
            return try await push(head, copying: file, range, isWhole)
        }
        guard try await push(head, Data()), let end = try await sendFile(file, range, isWhole) else { return false }
        return try await push([], copying: file, end..<range.upperBound, isWhole)
    }

    /// Has the kernel send the file; gives how far it came, which is not the end only where it cannot do that for this
    /// kind of file, and nil when the upload ends here.
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
            if case .bytes(0) = result { throw Self.fileBecameShorter }
            guard try await goOn(after: result, from: &position, to: end) else { return nil }
        }
        return position
    }

    /// Takes note of what was sent of a file, and waits if need be; false when the upload ends here.
    private mutating func goOn(
        after result: TransferResult, from position: inout Int64, to end: Int64
    ) async throws(RequestError) -> Bool {
        guard case .bytes(let sent) = result else {
            if try hasAnswer() { return false }
            try await take(whileFull)
            return try !hasAnswer()
        }
        position += Int64(sent)
        written += sent
        reporter.addSent(sent)
        if position < end, try hasAnswer() { return false }
        work(sent)
        if isTired { try await take(.rest) }
        return true
    }

    /// Sends a file by way of memory of our own.
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
            guard count > 0, let start = piece.baseAddress else { throw Self.fileBecameShorter }
            let part = Data(bytesNoCopy: start, count: count, deallocator: .none)
            guard try await push(prefix, part) else { return false }
            prefix = []
            if position < range.upperBound, try hasAnswer() { return false }
        }
        return prefix.isEmpty ? true : try await push(prefix, Data())
    }

    private func read(
        _ file: OpenFile, into room: UnsafeMutableRawBufferPointer, at position: Int64
    ) throws(RequestError) -> Int {
        do throws(FileError) {
            return try file.reader.read(into: room, at: position)
        } catch {
            throw RequestError(.bodyNotEncoded, detail: error.description, underlying: error)
        }
    }

    /// Asked before the last bytes go out, so that the server never takes half of a longer file for the whole.
    private func checkEnd(of file: OpenFile, at position: Int64) throws(RequestError) {
        var byte: UInt8 = 0
        let count = try withUnsafeMutableBytes(of: &byte) { (room) throws(RequestError) in
            try read(file, into: room, at: position)
        }
        guard count == 0 else {
            throw RequestError(.bodyNotEncoded, detail: "the file became longer while it was sent")
        }
    }

    private static var fileBecameShorter: RequestError {
        RequestError(.bodyNotEncoded, detail: "the file became shorter while it was sent")
    }
}

/// How the bytes of a file that is not small get into a connection.
package enum FileSending: CaseIterable, Sendable {
    /// By sendfile, which lends the file's pages to the connection.
    case byKernel
    /// Read in pieces into one buffer, and sent from there.
    case copied
}

extension Connection {
    /// On the way to another machine, pages that are lent spare a copy.
    ///
    /// For a peer on this one every byte is copied in any case, and out of one buffer, which a cache holds, that is
    /// done faster than out of the file's pages.
    fileprivate var fileSending: FileSending {
        if let way = slot.pool.configuration.fileSending { return way }
        return (try? channel.socket.peerAddress())?.isLocal == true ? .copied : .byKernel
    }
}
