@_spi(Lock) import Requests
import RequestsPOSIX

/// An executor that measures the cost of sending a file alone: the head, then the file in pieces, with blocking waits.
///
/// It sends one request at a time, over TCP, and requires a response whose body is the number of bytes sent.
final class BareFile: RequestExecutor {
    private let channel = Lock<Channel?>(nil)
    /// The size of a piece in bytes: `UP_PIECE` in the environment, in KiB, or 512 KiB.
    private let piece = (Terminal.environment("UP_PIECE").flatMap { Int($0) } ?? 512) << 10

    private func channel(for request: PreparedRequest) throws -> Channel {
        if let channel = channel.withLock({ $0 }) { return channel }
        let address = try SocketAddress(literallyOf: request.target)
        let channel = Channel(try Socket(for: address), reactor: try Reactor.shared())
        if try !channel.socket.startConnecting(to: address) {
            try channel.socket.waitInPlace(for: .writing)
            try channel.socket.finishConnecting()
        }
        self.channel.withLock { $0 = channel }
        return channel
    }

    /// Sends the file and receives the response; the body is everything that was received, including the head.
    func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse {
        try RequestError.wrapping(.other) {
            guard case .file(let path, _) = request.body else {
                throw BenchmarkError("bare-file requires a file as the body")
            }
            let file = try FileReader(path: path)
            let channel = try channel(for: request)
            let head = try RequestHeadWriter.head(of: request, framing: .length(Int(file.size)))
            guard try head.withUnsafeBytes({ try channel.write($0) }) == .bytes(head.count) else {
                throw BenchmarkError("could not send the head in one call")
            }
            try send(file, to: channel)
            let response = try Self.response(on: channel, counting: file.size)
            return RawResponse(head: ResponseHead(status: .ok, target: request.target), body: .bytes(response))
        }
    }

    private func send(_ file: borrowing FileReader, to channel: Channel) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: piece, alignment: 16)
        defer { buffer.deallocate() }
        var position: Int64 = 0
        while position < file.size {
            let count = try file.read(into: buffer, at: position)
            guard count > 0 else { throw BenchmarkError("the file shrank while it was being sent") }
            var remainder = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !remainder.isEmpty {
                switch try channel.write(remainder) {
                case .bytes(let sent): remainder = UnsafeRawBufferPointer(rebasing: remainder[sent...])
                case .wouldBlock: try channel.socket.waitInPlace(for: .writing)
                case .end: throw BenchmarkError("the server closed the connection")
                }
            }
            position += Int64(count)
        }
    }

    private static func response(on channel: Channel, counting bytes: Int64) throws -> Data {
        let end = "\r\n\r\n\(bytes)".utf8
        var response = Data()
        while !response.suffix(end.count).elementsEqual(end) {
            try channel.socket.waitInPlace(for: .reading)
            try withUnsafeTemporaryAllocation(byteCount: 1 << 10, alignment: 1) { buffer in
                switch try channel.read(into: buffer) {
                case .bytes(let count): response += buffer[..<count]
                case .wouldBlock: break
                case .end: throw BenchmarkError("the server closed the connection")
                }
            }
        }
        guard response.starts(with: "HTTP/1.1 200 ".utf8) else {
            throw BenchmarkError("expected a response with status 200")
        }
        return response
    }
}

extension SocketAddress {
    /// Creates the address of a target whose host is an IP address, without a lookup.
    init(literallyOf target: TargetURI) throws(BenchmarkError) {
        guard let port = UInt16(exactly: target.effectivePort ?? 80),
            let address = SocketAddress(ipLiteral: target.host, port: port)
        else { throw BenchmarkError("the host of \(target) is not an IP address") }
        self = address
    }
}
