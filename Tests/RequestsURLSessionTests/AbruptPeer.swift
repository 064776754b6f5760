import Requests
import RequestsPOSIX
import Synchronization

/// A server that ends a connection as soon as a request begins to arrive on it, after responding to earlier ones, and
/// can end its idle connections.
///
/// The server ends when it is released.
final class AbruptPeer: Sendable {
    /// The way in which a connection with an unread request ends.
    enum End: CaseIterable, Sendable {
        case close, shutDown, reset
    }

    let port: Int
    private let begun = Mutex<[Int]>([])
    private let methods = Mutex<[String: Int]>([:])
    private let stopSignal: StopSignal
    private let connections = Mutex<[StopSignal]>([])

    /// The number of requests that have begun to arrive on each connection, in the order of acceptance.
    var requests: [Int] { begun.withLock { $0 } }

    /// Returns the number of requests with `method` that have arrived completely.
    func requests(_ method: HTTPMethod) -> Int { methods.withLock { $0[method.rawValue] ?? 0 } }

    /// Ends the connections with at least one response, whether or not another request has arrived on them.
    func endIdleConnections() {
        connections.withLock { connections in
            for connection in connections where connection.hasResponded.load(ordering: .acquiring) {
                connection.signal.signal()
            }
            connections.removeAll { $0.hasResponded.load(ordering: .acquiring) }
        }
    }

    /// Creates a server that responds to `limit(connection)` requests on a connection before it ends the connection.
    init(ending end: End, after limit: @escaping @Sendable (_ connection: Int) -> Int) throws {
        stopSignal = try StopSignal()
        let listener = Connection(try Socket.listening(on: .loopback()))
        port = Int(try listener.socket.localAddress().port ?? 0)
        try DetachedThread.start(named: "abrupt") { [stopSignal, weak self] in
            while listener.wait(orUntil: stopSignal) {
                guard let socket = try? listener.socket.accept() else { continue }
                let connection = Connection(socket)
                guard let stopSignal = try? StopSignal(),
                    let number = self?.beginConnection(endedBy: stopSignal)
                else { return }
                let limit = limit(number)
                try? DetachedThread.start(named: "abrupt.line") { [weak self] in
                    defer { connection.end(end) }
                    for _ in 0..<limit {
                        guard connection.waitForRequest(orUntil: stopSignal) else { return }
                        self?.beginRequest(on: number)
                        guard let method = connection.receiveRequest(orUntil: stopSignal) else { return }
                        self?.methods.withLock { $0[method, default: 0] += 1 }
                        guard connection.respond() else { return }
                        stopSignal.hasResponded.store(true, ordering: .releasing)
                    }
                    guard connection.waitForRequest(orUntil: stopSignal) else { return }
                    self?.beginRequest(on: number)
                }
            }
        }
    }

    deinit {
        stopSignal.signal.signal()
        connections.withLock { for connection in $0 { connection.signal.signal() } }
    }

    private func beginConnection(endedBy signal: StopSignal) -> Int {
        connections.withLock { $0.append(signal) }
        return begun.withLock { begun in
            begun.append(0)
            return begun.count - 1
        }
    }

    private func beginRequest(on connection: Int) {
        begun.withLock { $0[connection] += 1 }
    }

    private final class StopSignal: Sendable {
        let signal: WakeSignal
        let hasResponded = Atomic(false)

        init() throws {
            signal = try WakeSignal()
        }
    }

    private final class Connection: Sendable {
        let socket: Socket

        init(_ socket: consuming Socket) {
            self.socket = socket
        }

        /// Waits until bytes or the end of the connection arrive, and returns false if the server ends.
        func wait(orUntil stopSignal: StopSignal) -> Bool {
            (try? socket.waitInPlace(for: .reading, orUntil: stopSignal.signal)) != nil
        }

        /// Waits until a request begins to arrive, and returns false if the client closes the connection.
        func waitForRequest(orUntil stopSignal: StopSignal) -> Bool {
            wait(orUntil: stopSignal) && socket.liveness() == .strayBytes
        }

        /// Reads a request whose body has a Content-Length; returns its method, or nil at the end of the connection.
        func receiveRequest(orUntil stopSignal: StopSignal) -> String? {
            var text = ""
            while !isWhole(text) {
                var part = [UInt8](repeating: 0, count: 4096)
                guard wait(orUntil: stopSignal) else { return nil }
                switch try? part.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
                case .bytes(let count): text += String(decoding: part[..<count], as: UTF8.self)
                case .wouldBlock: continue
                case .end, nil: return nil
                }
            }
            return text.split(separator: " ").first.map(String.init)
        }

        /// Sends a response, and returns whether that succeeded.
        func respond() -> Bool {
            let response = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood".utf8)
            return (try? response.withUnsafeBytes { try socket.send($0) }) != nil
        }

        private func isWhole(_ text: String) -> Bool {
            guard let head = text.firstRange(of: "\r\n\r\n") else { return false }
            let length = text.firstMatch(of: /Content-Length: ([0-9]+)/.ignoresCase()).flatMap { Int($0.1) } ?? 0
            return text[head.upperBound...].utf8.count >= length
        }

        func end(_ end: End) {
            switch end {
            case .close: break
            case .shutDown: socket.shutDown(.both)
            case .reset: try? socket.setResetOnClose()
            }
        }
    }
}
