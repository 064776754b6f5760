import RequestsHTTP1
import RequestsPOSIX
import RequestsTestServer

/// A client that sends arbitrary bytes.
struct RawClient {
    private let channel: Channel

    init(_ server: TestServer) async throws {
        let address: SocketAddress =
            switch server.address {
            case .loopback(let port): .loopback(port: UInt16(clamping: port))
            case .unix(let path): try SocketAddress(unixPath: path)
            }
        channel = Channel(try Socket(for: address), reactor: try Reactor.shared())
        try await channel.connect(to: address)
    }

    func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    func send(_ bytes: [UInt8]) async throws {
        var remainder = bytes[...]
        while !remainder.isEmpty {
            switch try remainder.withUnsafeBytes({ try channel.write($0) }) {
            case .bytes(let count): remainder = remainder.dropFirst(count)
            case .wouldBlock: try await channel.waitUntilWritable()
            case .end: return
            }
        }
    }

    func endSending() {
        channel.socket.shutDown(.writing)
    }

    /// Makes the connection end with a reset when this client is released.
    func setResetOnClose() throws {
        try channel.socket.setResetOnClose()
    }

    /// Receives until the server closes the connection or `limit` bytes have arrived; throws if it is reset.
    func receive(_ limit: Int = .max) async throws -> String {
        String(decoding: try await receiveBytes(limit), as: UTF8.self)
    }

    func receiveBytes(_ limit: Int = .max) async throws -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        while all.count < limit {
            switch try part.withUnsafeMutableBytes({ try channel.read(into: $0) }) {
            case .bytes(let count): all += part[..<count]
            case .wouldBlock: try await channel.waitUntilReadable()
            case .end: return all
            }
        }
        return all
    }

    /// Receives bytes that arrive together; an empty array when the server has closed the connection.
    func receiveNext() async throws -> [UInt8] {
        var part = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            switch try part.withUnsafeMutableBytes({ try channel.read(into: $0) }) {
            case .bytes(let count): return Array(part[..<count])
            case .wouldBlock: try await channel.waitUntilReadable()
            case .end: return []
            }
        }
    }

    /// Returns the statuses of the responses in `bytes`, in order; `methods` are the methods of the requests.
    static func statuses(in bytes: [UInt8], to methods: [HTTPMethod]) throws -> [Int] {
        var remainder = bytes[...]
        var statuses: [Int] = []
        var methods = methods[...]
        while !remainder.isEmpty {
            var reader = ResponseReader(answering: methods.popFirst() ?? .get)
            reading: while true {
                let (consumed, event) = try reader.next(in: remainder.span)
                remainder = remainder.dropFirst(consumed)
                switch event {
                case .head(let response): statuses.append(response.line.status.code)
                case .end: break reading
                case .needMore:
                    _ = try reader.receiveEnd()
                    break reading
                default: break
                }
            }
        }
        return statuses
    }
}
