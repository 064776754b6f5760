import Requests
import RequestsHTTP1
import RequestsPOSIX

/// A request and its response on one connection: how far both have come.
///
/// It has one owner, who may give it away. Its parts: sending, receiving the head, receiving the body. None of them suspends before the kernel says "not yet".
struct Transfer: ~Copyable, Sendable {
    let connection: Connection
    let patience: Patience
    var reader: ResponseReader
    var reporter: ProgressReporter
    /// Bytes of the request, its head included, that the kernel took.
    var written = 0
    var isUploadComplete = false
    /// Why sending ended early; an answer may have come all the same.
    var sendFailure: SystemError?
    /// Of the final response, once its head is here.
    var status: HTTPStatus?
    var header = Header.empty
    private(set) var framing = BodyFraming.untilClose
    /// Whether the final response said HTTP/1.0.
    private(set) var isHTTP10 = false
    private var isReusable = false
    private var keepAlive: KeepAlive?
    /// When the first byte must be here; set by the first wait for it.
    var firstByteLimit: Deadline?
    /// Where in the connection's buffer bytes of the body lie that have been read, but not handed over.
    var pending = 0
    var isAtEnd = false
    var trailers = Header.empty
    /// Whether the server has asked for the body with 100 (Continue).
    var hasContinued = false
    /// Told of interim responses.
    let onInterim: (@Sendable (HTTPStatus, Header) -> Void)?
    /// Whether sending is over, complete or not.
    var hasSent = false
    /// Whether the connection took nothing more of the request when it was last asked.
    var isFull = false
    /// When the head of the answer was here; forgotten at the next pause.
    private var headArrived: Deadline?
    private var effort = Effort()

    init(
        _ request: PreparedRequest, sending length: Int?, over connection: Connection, _ patience: Patience
    ) {
        self.connection = connection
        self.patience = patience
        reader = ResponseReader(
            answering: request.method, limits: connection.slot.pool.configuration.wireLimits)
        reporter = ProgressReporter(request.onProgress)
        reporter.progress.totalToSend = length
        if let observe = request.onInterimResponse {
            let target = request.target
            onInterim = { observe(ResponseHead(status: $0, header: $1, target: target)) }
        } else {
            onInterim = nil
        }
    }

    /// Whether a byte of the response has come.
    var hasBegunAnswer: Bool { reader.hasStarted || !connection.inbound.isEmpty }

    /// The number of bytes of the response's body, when its head says.
    var expectedLength: Int? {
        switch framing {
        case .none: 0
        case .counted(let bytes): bytes
        case .chunked, .untilClose: nil
        }
    }

    /// Takes note of the head of the final response.
    mutating func begin(_ answer: consuming ReceivedResponse) {
        status = answer.line.status
        header = answer.header
        framing = answer.framing
        isHTTP10 = answer.line.version < .http11
        isReusable = answer.isReusable
        keepAlive = answer.keepAlive
        headArrived = .now
        reporter.progress.totalToReceive = expectedLength
    }

    /// Returns whether the connection can carry another request once at most `limit` bytes of the body have been read.
    func canBeReused(within limit: Int) -> Bool {
        guard isReusable, isUploadComplete, framing != .untilClose else { return false }
        return expectedLength.map { $0 <= limit } ?? (limit > 0)
    }

    /// The time, as it was when the head arrived if nothing was waited for since.
    var now: Deadline { headArrived ?? .now }

    /// The response has been read to its end: the connection goes back to the pool if it may carry another request.
    mutating func finish(_ trailers: Header) {
        isAtEnd = true
        self.trailers = trailers
        reporter.report(atEnd: true)
        guard isReusable, isUploadComplete, connection.inbound.isEmpty, keepAlive?.max != 0 else { return }
        connection.slot.pool.park(connection, at: now, seconds: keepAlive?.timeout)
    }

    /// Takes note of a system call that moved `count` bytes.
    mutating func work(_ count: Int) {
        effort.add(count)
    }

    /// Whether much was done without a wait, so that others should run before it goes on.
    var isTired: Bool { effort.isSpent }
}

/// Why a transfer cannot go on at once.
enum Pause {
    /// Much was done without a wait: others should run first.
    case rest
    /// The kernel has to catch up, by `limit` at the latest.
    case wait(for: Interest, until: Deadline, in: RequestError.Phase)
}

// MARK: Pausing

extension Transfer {
    /// Suspends until the transfer can go on.
    ///
    /// The only place where an exchange suspends for its connection.
    mutating func take(_ pause: Pause) async throws(RequestError) {
        effort = Effort()
        headArrived = nil
        guard case .wait(let wanted, let limit, let phase) = pause else {
            try patience.check()
            return await connection.channel.yield()
        }
        do throws(WaitError) {
            try await connection.wait(for: wanted, by: patience.total.orEarlier(limit), atHead: status == nil)
        } catch {
            throw patience.error(error, until: limit, in: phase)
        }
    }

    /// Blocks the calling thread until the transfer can go on.
    mutating func takeInPlace(_ pause: Pause) throws(RequestError) {
        effort = Effort()
        headArrived = nil
        guard case .wait(let wanted, let limit, let phase) = pause else { return try patience.check() }
        let deadline = patience.total.orEarlier(limit)
        if wanted == .reading, status == nil, try receiveInPlace(by: deadline) { return }
        do throws(WaitError) {
            try connection.channel.waitInPlace(for: wanted, by: deadline)
        } catch {
            throw patience.error(error, until: limit, in: phase)
        }
    }
}

/// Work done without a wait.
private struct Effort: Sendable {
    private var calls = 0
    private var bytes = 0

    var isSpent: Bool { calls >= 32 || bytes >= 1 << 20 }

    mutating func add(_ count: Int) {
        calls += 1
        bytes &+= count
    }
}
