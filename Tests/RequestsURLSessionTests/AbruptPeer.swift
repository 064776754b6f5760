import Requests
import RequestsPOSIX
import Synchronization

/// A server that ends a connection as soon as a request begins to arrive on it, after answering those before, or all its
/// connections when it is told to.
///
/// It ends when it is released.
final class AbruptPeer: Sendable {
    /// How a connection ends, whose request has not been read.
    enum End: CaseIterable, Sendable {
        case close, shutDown, reset
    }

    let port: Int
    private let begun = Mutex<[Int]>([])
    private let methods = Mutex<[String: Int]>([:])
    private let stopping: Stopping
    private let connections = Mutex<[Stopping]>([])

    /// How many requests have begun to arrive on each connection, in the order of acceptance.
    var requests: [Int] { begun.withLock { $0 } }

    /// How many requests with `method` have arrived to their end.
    func requests(_ method: HTTPMethod) -> Int { methods.withLock { $0[method.rawValue] ?? 0 } }

    /// Ends the connections on which a request was answered, whether or not another one has arrived on them.
    func endIdleConnections() {
        connections.withLock { connections in
            for connection in connections where connection.hasAnswered.load(ordering: .acquiring) {
                connection.signal.signal()
            }
            connections.removeAll { $0.hasAnswered.load(ordering: .acquiring) }
        }
    }

    /// A server whose connection of a given number answers a given number of requests before it ends.
    init(ending end: End, answering limit: @escaping @Sendable (_ connection: Int) -> Int) throws {
        stopping = try Stopping()
        let listener = Connection(try Socket.listening(on: .loopback()))
        port = Int(try listener.socket.localAddress().port ?? 0)
        try DetachedThread.start(named: "abrupt") { [stopping, weak self] in
            while listener.wait(orUntil: stopping) {
                guard let socket = try? listener.socket.accept() else { continue }
                let connection = Connection(socket)
                guard let stopping = try? Stopping(),
                    let number = self?.beginConnection(endedBy: stopping)
                else { return }
                let limit = limit(number)
                try? DetachedThread.start(named: "abrupt.line") { [weak self] in
                    defer { connection.end(end) }
                    for _ in 0..<limit {
                        guard connection.waitForRequest(orUntil: stopping) else { return }
                        self?.beginRequest(on: number)
                        guard let method = connection.receiveRequest(orUntil: stopping) else { return }
                        self?.methods.withLock { $0[method, default: 0] += 1 }
                        guard connection.answer() else { return }
                        stopping.hasAnswered.store(true, ordering: .releasing)
                    }
                    guard connection.waitForRequest(orUntil: stopping) else { return }
                    self?.beginRequest(on: number)
                }
            }
        }
    }

    deinit {
        stopping.signal.signal()
        connections.withLock { for connection in $0 { connection.signal.signal() } }
    }

    private func beginConnection(endedBy signal: Stopping) -> Int {
        connections.withLock { $0.append(signal) }
        return begun.withLock { begun in
            begun.append(0)
            return begun.count - 1
        }
    }

    private func beginRequest(on connection: Int) {
        begun.withLock { $0[connection] += 1 }
    }

    private final class Stopping: Sendable {
        let signal: WakeSignal
        let hasAnswered = Atomic(false)

        init() throws {
            signal = try WakeSignal()
        }
    }

    private final class Connection: Sendable {
        let socket: Socket

        init(_ socket: consuming Socket) {
            self.socket = socket
        }

        /// Waits until bytes or the end have arrived; false when the server ends.
        func wait(orUntil stopping: Stopping) -> Bool {
            (try? socket.waitInPlace(for: .reading, orUntil: stopping.signal)) != nil
        }

        /// Waits until a request begins to arrive; false when the client has closed instead.
        func waitForRequest(orUntil stopping: Stopping) -> Bool {
            wait(orUntil: stopping) && socket.liveness() == .strayBytes
        }

        /// Reads a request with its body, of which Content-Length is known; the method, or nil at the end.
        func receiveRequest(orUntil stopping: Stopping) -> String? {
            var text = ""
            while !isWhole(text) {
                var part = [UInt8](repeating: 0, count: 4096)
                guard wait(orUntil: stopping) else { return nil }
                switch try? part.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
                case .bytes(let count): text += String(decoding: part[..<count], as: UTF8.self)
                case .wouldBlock: continue
                case .end, nil: return nil
                }
            }
            return text.split(separator: " ").first.map(String.init)
        }

        func answer() -> Bool {
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
