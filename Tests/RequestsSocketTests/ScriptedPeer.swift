@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsTLS
import Synchronization

/// A server whose behavior is a script, byte by byte.
///
/// The script runs for each connection on a separate thread. Its argument counts the accepted connections.
final class ScriptedPeer: Sendable {
    /// An accepted connection.
    ///
    /// Every method blocks its thread, at most until the peer is stopped.
    struct Line: ~Copyable, Sendable {
        let socket: Socket
        let stopSignal: StopSignal
        /// The TLS of the connection; without a stream, bytes are sent as they are.
        let tls: LineTLS

        /// Sends `text` in pieces of at most `piece` bytes, and returns false if the client has closed the connection.
        @discardableResult
        func send(_ text: String, piece: Int = .max) -> Bool {
            send(Array(text.utf8), piece: piece)
        }

        @discardableResult
        func send(_ bytes: [UInt8], piece: Int = .max, whenFull: () -> Void = {}) -> Bool {
            var remainder = bytes[...]
            while !remainder.isEmpty {
                let result = remainder.prefix(piece).withUnsafeBytes { part in
                    Result { try tls.send(part, to: socket) }
                }
                switch result {
                case .success(.bytes(let count)): remainder = remainder.dropFirst(count)
                case .success:
                    whenFull()
                    guard wait(.writing) else { return false }
                case .failure: return false
                }
            }
            return true
        }

        /// Sends `bytes` below TLS, one each 5 ms, until the client has closed the connection or the peer stops.
        func drip(_ bytes: [UInt8]) {
            for byte in bytes {
                let isSent = withUnsafeBytes(of: byte) { byte in (try? socket.send(byte)) != nil }
                guard isSent, socket.liveness() != .closed else { return }
                pause()
            }
        }

        /// Receives the next bytes, or nil if the client has ended the connection or the peer stops.
        func receive(_ limit: Int = 64 << 10) -> [UInt8]? {
            var part = [UInt8](repeating: 0, count: limit)
            while true {
                switch part.withUnsafeMutableBytes({ buffer in
                    Result { try tls.receive(into: buffer, from: socket) }
                }) {
                case .success(.bytes(let count)): return Array(part[..<count])
                case .success(.wouldBlock): guard wait(.reading) else { return nil }
                default: return nil
                }
            }
        }

        /// Receives a request up to the empty line and at least `bodyLength` more bytes; nil if none arrives.
        func receiveRequest(bodyLength: Int = 0) -> String? {
            var all: [UInt8] = []
            while true {
                let text = String(decoding: all, as: UTF8.self)
                if let head = text.firstRange(of: "\r\n\r\n"),
                    text.utf8.distance(from: head.upperBound, to: text.endIndex) >= bodyLength
                {
                    return text
                }
                guard let more = receive() else { return nil }
                all += more
            }
        }

        /// Receives all bytes until the client ends the connection.
        func receiveAll() -> [UInt8] {
            var all: [UInt8] = []
            while let more = receive() { all += more }
            return all
        }

        /// Responds to every request with `text` until the client closes the connection.
        func respondToAll(_ text: String) {
            while receiveRequest() != nil { send(text) }
        }

        func wait(_ direction: Direction) -> Bool {
            do {
                try socket.waitInPlace(for: tls.needed ?? direction, orUntil: stopSignal.signal)
                return true
            } catch {
                return false
            }
        }

        /// Blocks until the peer is stopped, without reading.
        func waitForStop() {
            block(until: nil)
        }

        /// Blocks for 5 ms.
        func pause() {
            block(until: .after(.milliseconds(5)))
        }

        private func block(until deadline: Deadline?) {
            // No bytes arrive at one end while the other is open.
            try? Socket.Pair().apart { near, far in
                try? near.waitInPlace(for: .reading, by: deadline, orUntil: stopSignal.signal)
                far.shutDown(.both)
            }
        }

        /// Blocks until the client closes the connection, whatever it sends.
        func waitForEnd() { while receive() != nil {} }
    }

    final class StopSignal: Sendable {
        let signal: WakeSignal
        init() throws { signal = try WakeSignal() }
    }

    let address: SocketAddress
    private let stopSignal: StopSignal
    private let accepted = Atomic(0)
    private let permits = Permits()
    private let isStopped = Atomic(false)
    private let log = Lock<[String]>([])
    private let open = Lock<(lines: [WeakLine], most: Int)>(([], 0))

    /// The maximum number of connections that were open at the same time.
    var mostConnections: Int { open.withLock { $0.most } }

    /// The number of accepted connections.
    var connections: Int { accepted.load(ordering: .acquiring) }

    /// Resumes `count` scripts that wait in ``waitForResume()``.
    func resume(_ count: Int = 1) { permits.add(count) }

    /// Blocks the thread of a script until the test resumes it, and returns false if the peer stops.
    func waitForResume() -> Bool {
        while !permits.take() {
            if isStopped.load(ordering: .acquiring) { return false }
            DetachedThread.yield()
        }
        return true
    }

    /// The notes of the scripts.
    var notes: [String] { log.withLock { $0 } }
    func note(_ text: String) { log.withLock { $0.append(text) } }

    init(
        on address: SocketAddress = .loopback(),
        securedWith tls: TLSContext? = nil, plan: LineTLS.Plan = LineTLS.Plan(),
        _ script: @escaping @Sendable (borrowing Line, Int, ScriptedPeer) -> Void
    ) throws {
        let listener = try Socket.listening(on: address)
        self.address = try listener.localAddress()
        stopSignal = try StopSignal()
        let shared = SharedSocket(socket: listener)
        try DetachedThread.start(named: "peer") { [stopSignal, weak self] in
            while (try? shared.socket.waitInPlace(for: .reading, orUntil: stopSignal.signal)) != nil {
                guard let socket = try? shared.socket.accept() else { continue }
                guard let number = self?.accepted.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue else {
                    return
                }
                // The bytes of a script must be sent when its connection closes.
                socket.setNoDelay()
                let line = SharedLine(socket: socket, stopSignal: stopSignal)
                self?.count(line)
                try? DetachedThread.start(named: "peer.line") { [weak self] in
                    guard let self else { return }
                    line.line.tls.onSecuring { [unowned line] _, context in line.secure(context, plan, number) }
                    if let tls { line.secure(tls, plan, number) }
                    script(line.line, number, self)
                }
            }
        }
    }

    deinit {
        stopSignal.signal.signal()
    }

    /// Ends the waits of all scripts, and stops listening.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopSignal.signal.signal()
    }

    /// Counts the connections that are open at the same time as `line`, without those that the client has closed.
    private func count(_ line: SharedLine) {
        open.withLock { open in
            open.lines.removeAll { $0.line.map { $0.line.socket.liveness() == .closed } ?? true }
            open.lines.append(WeakLine(line: line))
            open.most = max(open.most, open.lines.count)
        }
    }

    private struct WeakLine: Sendable {
        weak let line: SharedLine?
    }

    private final class Permits: Sendable {
        private let count = Lock(0)
        func add(_ number: Int) { count.withLock { $0 += number } }
        func take() -> Bool {
            count.withLock { count in
                guard count > 0 else { return false }
                count -= 1
                return true
            }
        }
    }

    private final class SharedSocket: Sendable {
        let socket: Socket
        init(socket: consuming Socket) { self.socket = socket }
    }

    private final class SharedLine: Sendable {
        let line: Line
        init(socket: consuming Socket, stopSignal: StopSignal) {
            line = Line(socket: socket, stopSignal: stopSignal, tls: LineTLS())
        }

        /// Performs a handshake, as far as the plan lets it.
        func secure(_ context: TLSContext, _ plan: LineTLS.Plan, _ number: Int) {
            line.tls.begin(
                context, over: LineTransport(plan, number: number) { [unowned self] body in body(line.socket) })
            while !line.tls.hasFailed, let direction = line.tls.handshake() { if !line.wait(direction) { return } }
        }
    }
}
