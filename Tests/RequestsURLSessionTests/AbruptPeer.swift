import Requests
import RequestsPOSIX
import Synchronization

/// A server that ends a connection as soon as a request begins to arrive on it, after answering those before.
///
/// It ends when it is released.
final class AbruptPeer: Sendable {
    /// How a connection ends, whose request has not been read.
    enum End: CaseIterable, Sendable {
        case close, shutDown, reset
    }

    let port: Int
    private let begun = Mutex<[Int]>([])
    private let stopping: Stopping

    /// How many requests have begun to arrive on each connection, in the order of acceptance.
    var requests: [Int] { begun.withLock { $0 } }

    /// A server whose connection of a given number answers a given number of requests before it ends.
    init(ending end: End, answering limit: @escaping @Sendable (_ connection: Int) -> Int) throws {
        stopping = Stopping(signal: try WakeSignal())
        let listener = Connection(try Socket.listening(on: .loopback()))
        port = Int(try listener.socket.localAddress().port ?? 0)
        try DetachedThread.start(named: "abrupt") { [stopping, weak self] in
            while listener.wait(orUntil: stopping) {
                guard let socket = try? listener.socket.accept() else { continue }
                let connection = Connection(socket)
                guard let number = self?.beginConnection() else { return }
                let limit = limit(number)
                try? DetachedThread.start(named: "abrupt.line") { [weak self] in
                    for _ in 0..<limit {
                        guard connection.waitForRequest(orUntil: stopping) else { return }
                        self?.beginRequest(on: number)
                        guard connection.answer(orUntil: stopping) else { return }
                    }
                    guard connection.waitForRequest(orUntil: stopping) else { return }
                    self?.beginRequest(on: number)
                    connection.end(end)
                }
            }
        }
    }

    deinit {
        stopping.signal.signal()
    }

    private func beginConnection() -> Int {
        begun.withLock { begun in
            begun.append(0)
            return begun.count - 1
        }
    }

    private func beginRequest(on connection: Int) {
        begun.withLock { $0[connection] += 1 }
    }

    private final class Stopping: Sendable {
        let signal: WakeSignal

        init(signal: consuming WakeSignal) {
            self.signal = signal
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

        /// Reads a request with its body, of which Content-Length is known, and answers it; false at the end.
        func answer(orUntil stopping: Stopping) -> Bool {
            var text = ""
            while !isWhole(text) {
                var part = [UInt8](repeating: 0, count: 4096)
                guard wait(orUntil: stopping) else { return false }
                switch try? part.withUnsafeMutableBytes({ try socket.receive(into: $0) }) {
                case .bytes(let count): text += String(decoding: part[..<count], as: UTF8.self)
                case .wouldBlock: continue
                case .end, nil: return false
                }
            }
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
