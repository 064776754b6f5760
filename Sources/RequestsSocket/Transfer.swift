import Requests
import RequestsHTTP1
import RequestsPOSIX

/// A request and its response on one connection, with the progress of both.
///
/// It has one owner, who may pass it on. Its parts are sending, receiving the head, and receiving the body; each
/// suspends only if the kernel is not ready.
struct Transfer: ~Copyable, Sendable {
    let connection: Connection
    let timeLimits: SocketTimeLimits
    var reader: ResponseReader
    var reporter: ProgressReporter
    /// The number of bytes of the request, its head included, that the kernel has accepted.
    var written = 0
    var isUploadComplete = false
    /// The error that ended sending early; the response may arrive nevertheless.
    var sendFailure: SystemError?
    /// The status of the final response, once its head has been read.
    var status: HTTPStatus?
    var header = Header.empty
    private(set) var framing = BodyFraming.untilClose
    /// Whether the final response is of HTTP/1.0.
    private(set) var isHTTP10 = false
    private var isReusable = false
    private var keepAlive: KeepAlive?
    /// The deadline for the first byte, which the first wait for it sets.
    var firstByteLimit: Deadline?
    /// The number of body bytes in the connection's buffer that have been read but not delivered.
    var pending = 0
    var isAtEnd = false
    var trailers = Header.empty
    /// Whether the server has requested the body with 100 (Continue).
    var hasContinued = false
    /// The receiver of interim responses.
    let onInterim: (@Sendable (HTTPStatus, Header) -> Void)?
    /// Whether sending has ended, complete or not.
    var hasSent = false
    /// Whether the connection accepted no more of the request at the last try.
    var isFull = false
    /// The time at which the head of the response arrived; cleared at the next pause.
    private var headArrived: Deadline?
    private var budget = WorkBudget()

    init(
        _ request: PreparedRequest, sending length: Int?, over connection: Connection, _ timeLimits: SocketTimeLimits
    ) {
        self.connection = connection
        self.timeLimits = timeLimits
        reader = ResponseReader(
            answering: request.method, limits: connection.slot.pool.configuration.wireLimits)
        reporter = ProgressReporter(request.progressHandler)
        reporter.progress.bytesExpectedToSend = length
        if let observe = request.interimResponseHandler {
            let target = request.target
            onInterim = { observe(ResponseHead(status: $0, header: $1, target: target)) }
        } else {
            onInterim = nil
        }
    }

    /// Whether a byte of the response has arrived.
    var hasBegunResponse: Bool { reader.hasStarted || !connection.inbound.isEmpty }

    /// The length of the response's body in bytes, if the head declares it.
    var expectedLength: Int? {
        switch framing {
        case .none: 0
        case .counted(let bytes): bytes
        case .chunked, .untilClose: nil
        }
    }

    /// Records the head of the final response.
    mutating func begin(_ received: consuming ReceivedResponse) {
        status = received.line.status
        header = received.header
        framing = received.framing
        isHTTP10 = received.line.version < .http11
        isReusable = received.isReusable
        keepAlive = received.keepAlive
        headArrived = .now
        reporter.progress.bytesExpectedToReceive = expectedLength
    }

    /// Returns whether the connection can carry another request once at most `limit` bytes of the body have been read.
    func canBeReused(within limit: Int) -> Bool {
        guard isReusable, isUploadComplete, framing != .untilClose else { return false }
        return expectedLength.map { $0 <= limit } ?? (limit > 0)
    }

    /// The current time, or the time at which the head arrived if nothing has waited since.
    var now: Deadline { headArrived ?? .now }

    /// Ends the response, and returns the connection to the pool if it can carry another request.
    mutating func finish(_ trailers: Header) {
        isAtEnd = true
        self.trailers = trailers
        reporter.report(atEnd: true)
        guard isReusable, isUploadComplete, connection.inbound.isEmpty, keepAlive?.max != 0 else { return }
        connection.slot.pool.park(connection, at: now, seconds: keepAlive?.timeout)
    }

    /// Records a system call that moved `count` bytes.
    mutating func recordWork(_ count: Int) {
        budget.add(count)
    }

    /// Whether enough work was done without a wait that other tasks should run first (decision 0014).
    var isBudgetSpent: Bool { budget.isSpent }
}

/// The reason why a transfer cannot continue at once.
enum Pause {
    /// Much work was done without a wait: other tasks should run first.
    case yield
    /// The kernel is not ready; the wait ends at `limit` at the latest.
    case wait(for: Interest, until: Deadline, in: RequestError.Phase)
}

// MARK: Pausing

extension Transfer {
    /// Suspends until the transfer can continue.
    ///
    /// An exchange suspends for its connection only here.
    mutating func take(_ pause: Pause) async throws(RequestError) {
        budget = WorkBudget()
        headArrived = nil
        guard case .wait(let wanted, let limit, let phase) = pause else {
            try timeLimits.check()
            return await connection.channel.yield()
        }
        do throws(WaitError) {
            try await connection.wait(for: wanted, by: timeLimits.total.orEarlier(limit), atHead: status == nil)
        } catch {
            throw timeLimits.error(error, until: limit, in: phase)
        }
    }

    /// Blocks the calling thread until the transfer can continue.
    mutating func takeInPlace(_ pause: Pause) throws(RequestError) {
        budget = WorkBudget()
        headArrived = nil
        guard case .wait(let wanted, let limit, let phase) = pause else { return try timeLimits.check() }
        let deadline = timeLimits.total.orEarlier(limit)
        if wanted == .reading, status == nil, try receiveInPlace(by: deadline) { return }
        do throws(WaitError) {
            try connection.channel.waitInPlace(for: wanted, by: deadline)
        } catch {
            throw timeLimits.error(error, until: limit, in: phase)
        }
    }
}

/// The amount of work done without a wait.
private struct WorkBudget: Sendable {
    private var calls = 0
    private var bytes = 0

    // At most 0.3 ms of work (decision 0014).
    var isSpent: Bool { calls >= 32 || bytes >= 1 << 20 }

    mutating func add(_ count: Int) {
        calls += 1
        bytes &+= count
    }
}
