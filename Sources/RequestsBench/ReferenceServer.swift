package import Requests
import RequestsPOSIX

/// A server that sends the same small response to every request, on its own threads, and its simplest client: the
/// yardstick.
///
/// A request ends with an empty line. The server inspects nothing of it except a target that requests a long body.
package final class ReferenceServer: Sendable {
    package static let body = Data(
        #"{"id":7,"name":"Either/Or","year":1843,"author":"S. K.","pages":838,"active":true}"#.utf8)

    package let url: URL
    private let address: SocketAddress
    private let signal: Signal

    /// The signal that ends the accepting thread.
    private final class Signal: Sendable {
        let wake: WakeSignal
        init() throws(SystemError) { wake = try WakeSignal() }
    }

    /// Starts a server that sends the small body, or `bytes` bytes of any content.
    package init(bytes: Int = 0) throws {
        let listener = try Socket.listening(on: .loopback())
        let signal = try Signal()
        address = try listener.localAddress()
        guard let url = URL(string: "http://\(address)/small") else {
            throw BenchmarkError("could not make a URL from \(address)")
        }
        self.url = url
        self.signal = signal
        let server = Server(listener: listener, bytes: bytes)
        try DetachedThread.start(named: "bench.accept") { server.run(until: signal.wake) }
    }

    package func stop() { signal.wake.signal() }

    /// Sends a request and receives its response `times` times over one connection, and returns the microseconds of
    /// one.
    package func exchange(times: Int) throws -> Double {
        let connection = Connection(try Socket(for: address))
        try connection.connect(to: address)
        let request = Array("GET /small HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\r\n".utf8)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let start = ContinuousClock.now
        for _ in 0..<times { try connection.exchange(request, receiving: Server.response.count, into: &buffer) }
        return (ContinuousClock.now - start) / .microseconds(1) / Double(times)
    }

    private struct Server: ~Copyable, Sendable {
        static let response =
            Array(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
            + body

        let listener: Socket
        let bytes: Int

        func run(until signal: borrowing WakeSignal) {
            while (try? listener.waitInPlace(for: .reading, orUntil: signal)) != nil {
                while let socket = try? listener.accept() {
                    let connection = Connection(socket)
                    try? DetachedThread.start(named: "bench.respond") { [bytes] in connection.run(sending: bytes) }
                }
            }
        }
    }

    private final class Connection: Sendable {
        let socket: Socket

        init(_ socket: consuming Socket) { self.socket = socket }

        func connect(to address: SocketAddress) throws {
            if try !socket.startConnecting(to: address) {
                try socket.waitInPlace(for: .writing)
                try socket.finishConnecting()
            }
            socket.setNoDelay()
        }

        func exchange(_ request: [UInt8], receiving count: Int, into buffer: inout [UInt8]) throws {
            // The request and its response are short enough for one send.
            _ = try request.withUnsafeBytes { try socket.send($0) }
            var received = 0
            while received < count {
                switch try buffer.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
                case .bytes(let more): received += more
                case .wouldBlock: try socket.waitInPlace(for: .reading)
                case .end: throw BenchmarkError("the server closed the connection")
                }
            }
        }

        /// Sends a head and a body of `count` bytes.
        private func sendLong(_ count: Int) throws {
            try sendAll(Array("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n".utf8)[...])
            let chunk = [UInt8](repeating: 0x61, count: 256 << 10)
            var remaining = count
            while remaining > 0 {
                try sendAll(chunk.prefix(remaining))
                remaining -= min(remaining, chunk.count)
            }
        }

        private func sendAll(_ bytes: ArraySlice<UInt8>) throws {
            var remainder = bytes
            while !remainder.isEmpty {
                switch try remainder.withUnsafeBytes({ try socket.send($0) }) {
                case .bytes(let count): remainder = remainder.dropFirst(count)
                case .wouldBlock: try socket.waitInPlace(for: .writing)
                case .end: throw BenchmarkError("the client closed the connection")
                }
            }
        }

        private static let gibibyte = Array("GET /gb1 ".utf8)

        func run(sending long: Int = 0) {
            socket.setNoDelay()
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                switch try? buffer.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
                case .bytes(let count) where buffer[..<count].suffix(4).elementsEqual([13, 10, 13, 10]):
                    let length = buffer.starts(with: Self.gibibyte) ? 1 << 30 : long
                    if length > 0 {
                        guard (try? sendLong(length)) != nil else { return }
                    } else {
                        _ = try? Server.response.withUnsafeBytes { try socket.send($0) }
                    }
                case .bytes: continue
                case .wouldBlock: guard (try? socket.waitInPlace(for: .reading)) != nil else { return }
                case .end, nil: return
                }
            }
        }
    }
}
