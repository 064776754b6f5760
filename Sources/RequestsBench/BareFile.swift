@_spi(Lock) import Requests
import RequestsPOSIX

/// What sending a file costs by itself: the head, then the file a piece at a time, every wait in place.
///
/// One request at a time, over TCP, and only where the body of the answer is the number of bytes that were sent.
final class BareFile: RequestExecutor {
    private let channel = Lock<Channel?>(nil)
    /// Bytes of a piece: `UP_PIECE` in the environment, in KiB; 512 without.
    private let piece = (Terminal.environment("UP_PIECE").flatMap { Int($0) } ?? 512) << 10

    private func channel(for request: PreparedRequest) throws -> Channel {
        if let channel = channel.withLock({ $0 }) { return channel }
        let address = try SocketAddress(literallyOf: request.target)
        let channel = Channel(try Socket(for: address), reactor: try Reactor.shared())
        if try !channel.socket.startConnecting(to: address) {
            try channel.waitWritableInPlace()
            try channel.socket.finishConnecting()
        }
        self.channel.withLock { $0 = channel }
        return channel
    }

    /// Sends the file and receives the answer; the body is what came, head and all.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try RequestError.wrapping(.other) {
            guard case .file(let path, _) = request.body else { throw Mistake("no file to send") }
            let file = try FileReader(path: path)
            let channel = try channel(for: request)
            let head = try RequestHeadWriter.head(of: request, framing: .length(Int(file.size)))
            guard try head.withUnsafeBytes({ try channel.write($0) }) == .bytes(head.count) else {
                throw Mistake("the head was not sent at once")
            }
            try send(file, to: channel)
            let answer = try Self.answer(on: channel, counting: file.size)
            return RawResponse(head: ResponseHead(status: .ok, target: request.target), body: .bytes(answer))
        }
    }

    private func send(_ file: borrowing FileReader, to channel: Channel) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while position < file.size {
            let count = try file.read(into: buffer, at: position)
            guard count > 0 else { throw Mistake("the file became shorter") }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !rest.isEmpty {
                switch try channel.write(rest) {
                case .bytes(let sent): rest = UnsafeRawBufferPointer(rebasing: rest[sent...])
                case .wouldBlock: try channel.waitWritableInPlace()
                case .end: throw Mistake("the server closed")
                }
            }
            position += Int64(count)
        }
    }

    private static func answer(on channel: Channel, counting bytes: Int64) throws -> Data {
        let end = "\r\n\r\n\(bytes)".utf8
        var answer = Data()
        while !answer.suffix(end.count).elementsEqual(end) {
            try channel.waitReadableInPlace()
            try withUnsafeTemporaryAllocation(byteCount: 1 << 10, alignment: 1) { room in
                switch try channel.read(into: room) {
                case .bytes(let count): answer += room[..<count]
                case .wouldBlock: break
                case .end: throw Mistake("the server closed")
                }
            }
        }
        guard answer.starts(with: "HTTP/1.1 200 ".utf8) else { throw Mistake("not the answer of a success") }
        return answer
    }
}

extension SocketAddress {
    /// The address of a target whose host is one, without a lookup.
    init(literallyOf target: TargetURI) throws(Mistake) {
        guard let port = UInt16(exactly: target.effectivePort ?? 80),
            let address = SocketAddress(ipLiteral: target.host, port: port)
        else { throw Mistake("no address: \(target)") }
        self = address
    }
}
