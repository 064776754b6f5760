@_spi(Lock) import Requests
import RequestsPOSIX
import Synchronization

/// A server that does what a test tells it to, byte by byte, on threads of its own.
///
/// Each connection is given to `script` on its own thread, numbered from 0 in the order of acceptance.
final class ScriptedPeer: Sendable {
    /// One accepted connection; every call blocks its thread, never longer than until the peer is stopped.
    struct Line: ~Copyable, Sendable {
        let socket: Socket
        let stopping: SharedSignal

        /// Sends all of a text, in pieces of at most `piece` bytes; false when the client is gone.
        @discardableResult
        func send(_ text: String, piece: Int = .max) -> Bool {
            send(Array(text.utf8), piece: piece)
        }

        @discardableResult
        func send(_ bytes: [UInt8], piece: Int = .max, whenFull: () -> Void = {}) -> Bool {
            var rest = bytes[...]
            while !rest.isEmpty {
                let result = rest.prefix(piece).withUnsafeBytes { part in Result { try socket.send(part) } }
                switch result {
                case .success(.bytes(let count)): rest = rest.dropFirst(count)
                case .success:
                    whenFull()
                    guard wait(.writing) else { return false }
                case .failure: return false
                }
            }
            return true
        }

        /// What has arrived next; nil when the client has ended or the peer stops.
        func receive(_ limit: Int = 64 << 10) -> [UInt8]? {
            var part = [UInt8](repeating: 0, count: limit)
            while true {
                switch part.withUnsafeMutableBytes({ room in Result { try socket.receive(into: room) } }) {
                case .success(.bytes(let count)): return Array(part[..<count])
                case .success(.wouldBlock): guard wait(.reading) else { return nil }
                default: return nil
                }
            }
        }

        /// A request up to the empty line, and what follows it up to `bodyLength` bytes; nil when none comes.
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

        /// Everything until the client ends.
        func receiveAll() -> [UInt8] {
            var all: [UInt8] = []
            while let more = receive() { all += more }
            return all
        }

        /// Answers every request with `text` until the client is gone.
        func answerAll(_ text: String) {
            while receiveRequest() != nil { send(text) }
        }

        func wait(_ direction: Direction) -> Bool {
            do {
                try socket.waitInPlace(for: direction, orUntil: stopping.signal)
                return true
            } catch {
                return false
            }
        }

        /// Blocks until the peer is stopped, and reads nothing.
        func waitForStop() {
            rest(by: nil)
        }

        /// Blocks for 5 ms.
        func pause() {
            rest(by: .after(.milliseconds(5)))
        }

        private func rest(by deadline: Deadline?) {
            // Nothing ever arrives at one end for as long as the other is open.
            try? Socket.Pair().apart { near, far in
                try? near.waitInPlace(for: .reading, by: deadline, orUntil: stopping.signal)
                far.shutDown(.both)
            }
        }

        /// Blocks until the client closes, whatever it sends.
        func waitForEnd() { while receive() != nil {} }
    }

    final class SharedSignal: Sendable {
        let signal: WakeSignal
        init() throws { signal = try WakeSignal() }
    }

    let address: SocketAddress
    private let stopping: SharedSignal
    private let accepted = Atomic(0)
    private let steps = Steps()
    private let isStopped = Atomic(false)
    private let log = Lock<[String]>([])
    private let open = Lock<(lines: [WeakLine], most: Int)>(([], 0))

    /// The greatest number of connections that were open at the same time.
    var mostConnections: Int { open.withLock { $0.most } }

    /// Connections accepted so far.
    var connections: Int { accepted.load(ordering: .acquiring) }

    /// Lets `count` scripts that wait in `next()` go on.
    func go(_ count: Int = 1) { steps.add(count) }

    /// Blocks a script's thread until the test lets it go on; false when the peer stops.
    func next() -> Bool {
        while !steps.take() {
            if isStopped.load(ordering: .acquiring) { return false }
            DetachedThread.yield()
        }
        return true
    }

    /// What scripts noted.
    var notes: [String] { log.withLock { $0 } }
    func note(_ text: String) { log.withLock { $0.append(text) } }

    init(
        on address: SocketAddress = .loopback(),
        _ script: @escaping @Sendable (borrowing Line, Int, ScriptedPeer) -> Void
    ) throws {
        let listener = try Socket.listening(on: address)
        self.address = try listener.localAddress()
        stopping = try SharedSignal()
        let listening = Listening(socket: listener)
        try DetachedThread.start(named: "peer") { [stopping, weak self] in
            while (try? listening.socket.waitInPlace(for: .reading, orUntil: stopping.signal)) != nil {
                guard let socket = try? listening.socket.accept() else { continue }
                guard let number = self?.accepted.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue else {
                    return
                }
                // What a script has sent must be on its way when it closes.
                socket.setNoDelay()
                let line = OneLine(socket: socket, stopping: stopping)
                self?.count(line)
                try? DetachedThread.start(named: "peer.line") { [weak self] in
                    guard let self else { return }
                    script(line.line, number, self)
                }
            }
        }
    }

    deinit {
        stopping.signal.signal()
    }

    /// Ends every script's waits and the listening.
    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopping.signal.signal()
    }

    /// Counts the connections that are open when `line` is; one that the client has closed is not, read or unread.
    private func count(_ line: OneLine) {
        open.withLock { open in
            open.lines.removeAll { $0.line.map { $0.line.socket.liveness() == .closed } ?? true }
            open.lines.append(WeakLine(line: line))
            open.most = max(open.most, open.lines.count)
        }
    }

    private struct WeakLine: Sendable {
        weak let line: OneLine?
    }

    private final class Steps: Sendable {
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

    private final class Listening: Sendable {
        let socket: Socket
        init(socket: consuming Socket) { self.socket = socket }
    }

    private final class OneLine: Sendable {
        let line: Line
        init(socket: consuming Socket, stopping: SharedSignal) {
            line = Line(socket: socket, stopping: stopping)
        }
    }
}
