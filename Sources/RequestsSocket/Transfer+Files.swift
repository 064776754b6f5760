import Requests
import RequestsPOSIX

extension Transfer {
    /// Bytes of a file that are read and sent at once.
    private static var pieceSize: Int { 256 << 10 }
    /// Bytes of a file that the kernel is asked to send at once.
    private static var sentSize: Int64 { 1 << 20 }
    /// Bytes of a file that is worth reading, so that it goes out with the head in one system call.
    private static var smallFile: Int64 { 64 << 10 }

    /// Sends the `range` of a file; `isWhole` tells that this was all of it when it was opened.
    mutating func push(
        _ head: [UInt8], _ file: OpenFile, _ range: Range<Int64>, _ isWhole: Bool
    ) async throws(RequestError) -> Bool {
        var position = range.lowerBound
        if range.upperBound - position > Self.smallFile {
            guard try await push(head, Data()) else { return false }
            guard let end = try await sendFile(file, from: position, to: range.upperBound, isWhole) else {
                return false
            }
            if end == range.upperBound { return true }
            position = end
            return try await push([], copying: file, position..<range.upperBound, isWhole)
        }
        return try await push(head, copying: file, range, isWhole)
    }

    /// Has the kernel send the file; gives how far it came, which is not the end only where it cannot do that for this
    /// kind of file, and nil when the upload ends here.
    private mutating func sendFile(
        _ file: OpenFile, from start: Int64, to end: Int64, _ isWhole: Bool
    ) async throws(RequestError) -> Int64? {
        var position = start
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
            guard case .bytes(let sent) = result else {
                if try hasAnswer() { return nil }
                try await take(whileFull)
                if try hasAnswer() { return nil }
                continue
            }
            guard sent > 0 else { throw Self.fileBecameShorter }
            position += Int64(sent)
            written += sent
            reporter.addSent(sent)
            if position < end, try hasAnswer() { return nil }
            work(sent)
            if isTired { try await take(.rest) }
        }
        return position
    }

    /// Sends a file by way of memory of our own.
    private mutating func push(
        _ head: [UInt8], copying file: OpenFile, _ range: Range<Int64>, _ isWhole: Bool
    ) async throws(RequestError) -> Bool {
        let piece = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, min(Self.pieceSize, Int(range.count))), alignment: 1)
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
