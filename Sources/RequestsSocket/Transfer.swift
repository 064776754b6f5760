import Requests
import RequestsHTTP1
import RequestsPOSIX

/// A request and its response on one connection: how far both have come.
///
/// Its parts: sending, receiving the head, receiving the body. None of them suspends before the kernel says "not yet".
struct Transfer: Sendable {
    let connection: Connection
    let pool: ConnectionPool
    let patience: Patience
    var reader: ResponseReader
    var reporter: ProgressReporter
    /// Bytes of the request, its head included, that the kernel took.
    var written = 0
    var isUploadComplete = false
    /// Why sending ended early; an answer may have come all the same.
    var sendFailure: SystemError?
    /// The head of the final response, once it is here.
    var answer: ReceivedResponse?
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
    private var effort = Effort()

    init(
        _ request: PreparedRequest, sending length: Int?, over connection: Connection, of pool: ConnectionPool,
        _ patience: Patience
    ) {
        self.connection = connection
        self.pool = pool
        self.patience = patience
        reader = ResponseReader(answering: request.method, limits: pool.configuration.wireLimits)
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
        switch answer?.framing {
        case .some(.none): 0
        case .counted(let bytes): bytes
        default: nil
        }
    }

    /// The response has been read to its end: the connection goes back to the pool if it may carry another request.
    mutating func finish(_ trailers: Header) {
        isAtEnd = true
        self.trailers = trailers
        reporter.report(atEnd: true)
        guard let answer, answer.isReusable, isUploadComplete, connection.inbound.isEmpty else { return }
        let keepAlive = answer.keepAlive
        guard keepAlive?.max != 0 else { return }
        pool.park(connection, seconds: keepAlive?.timeout)
    }

    /// Waits until the kernel can go on, `limit` has passed, or the call must end.
    ///
    /// The only place where an exchange suspends for its connection.
    mutating func wait(
        for wanted: Interest, until limit: Deadline, in phase: RequestError.Phase
    ) async throws(RequestError) {
        effort = Effort()
        let deadline = min(limit, patience.total)
        let channel = connection.channel
        do throws(WaitError) {
            guard let thread = CallingThread.current, let poll = thread.poll else {
                return try await channel.wait(for: wanted, by: deadline)
            }
            // An actor may have an executor of its own: then this is not that thread.
            let isolation: (any Actor)? = #isolation
            if isolation == nil, !Task.isCancelled,
                thread.waitInPlace({ poll.waitInPlace(for: wanted, on: channel, by: deadline) })
            {
                return
            }
            try await channel.wait(for: wanted, by: deadline, on: poll)
        } catch {
            throw patience.error(error, until: limit, in: phase)
        }
    }

    /// Whether much was done without a wait, so that others should run before it goes on.
    var isTired: Bool { effort.isSpent }

    /// Takes note of a system call that moved `count` bytes.
    mutating func work(_ count: Int) {
        effort.add(count)
    }

    /// Lets others run, unless the call must end.
    mutating func rest() async throws(RequestError) {
        effort = Effort()
        try patience.check()
        await Task.yield()
    }
}

/// Work done without a wait.
private struct Effort: Sendable {
    private var calls = 0
    private var bytes = 0

    var isSpent: Bool { calls >= 32 || bytes >= 256 << 10 }

    mutating func add(_ count: Int) {
        calls += 1
        bytes &+= count
    }
}
