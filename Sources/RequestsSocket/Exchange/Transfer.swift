import Requests
import RequestsPOSIX

/// A request and its response on one carrier, with the progress of both; no function waits.
struct Transfer<C: Carrier & ~Copyable>: ~Copyable, Sendable {
    var carrier: C
    let timeLimits: SocketTimeLimits
    private var reporter: ProgressReporter
    private var budget = WorkBudget()
    /// The error that ended sending early; the response may arrive nevertheless.
    private(set) var sendFailure: StreamError?
    /// The head of the final response, once it has been read.
    private(set) var head: ResponseHead?
    /// The length of the response's body in bytes, if its head declares it.
    ///
    /// Stored here, because after the end of the body the carrier may already serve another exchange.
    private(set) var bodyLength: Int?
    /// Whether the server has requested the body with 100 (Continue).
    private(set) var hasContinued = false
    /// Whether the body has ended, and all of it was delivered.
    private(set) var isAtEnd = false
    private(set) var trailers = Header.empty
    /// The deadline for the first byte; set when the transfer first waits for it.
    private var firstByteLimit: Deadline?
    /// The deadline for the next byte in either direction; set when the transfer first waits for it.
    private var nextByteLimit: Deadline?
    /// The time at which bytes of the head last arrived.
    private var arrived: Deadline?
    /// The time at which the first byte of a response arrived, interim ones included.
    private(set) var firstByte: Deadline?
    /// The time at which the response ended.
    private(set) var end: Deadline?
    /// Whether time may have passed since the head arrived: after a wait, or after the caller has taken a piece.
    private var isLater = true
    private let target: TargetURI
    private let onInterim: (@Sendable (ResponseHead) -> Void)?

    init(_ request: PreparedRequest, sending length: Int?, over carrier: consuming C, _ timeLimits: SocketTimeLimits) {
        self.carrier = carrier
        self.timeLimits = timeLimits
        reporter = ProgressReporter(request.progressHandler, sending: length)
        target = request.target
        onInterim = request.interimResponseHandler
    }

    /// The current time, or the time at which the head arrived if the transfer has not waited since then.
    var now: Deadline { isLater ? .now : arrived ?? .now }

    /// Records that a wait begins, which resets the budget of work.
    mutating func pause() {
        budget = WorkBudget()
        isLater = true
    }

    /// Records that the caller continues; it may have done other work.
    mutating func resume() {
        isLater = true
        nextByteLimit = nil
    }

    /// Whether so much work was done without a wait that other tasks should run first (decision 0014).
    var isBudgetSpent: Bool { budget.isSpent }
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

// MARK: Sending

extension Transfer where C: ~Copyable {
    /// The result of an attempt to send.
    enum Sending {
        /// The carrier accepted this many bytes of the body. It may also have accepted bytes that precede them.
        case bytes(Int)
        /// The carrier accepts nothing at present.
        case full
        /// The carrier will accept nothing more; the response may arrive nevertheless.
        case failed
    }

    /// Sends the present piece of the body from `offset` on, after the bytes that precede it.
    mutating func send(_ piece: Data, from offset: Int) -> Sending {
        do throws(StreamError) {
            guard case .bytes(let count) = try carrier.send(piece, from: offset) else { return .full }
            record(count)
            return .bytes(count)
        } catch {
            return fail(error)
        }
    }

    /// Sends a part of a file without reading it; nil if files of this kind have to be read.
    mutating func send(_ file: borrowing FileReader, from position: Int64, count: Int) -> Sending? {
        do throws(StreamError) {
            guard case .bytes(let count) = try carrier.send(file, from: position, count: count) else { return .full }
            record(count)
            return .bytes(count)
        } catch {
            return error.isNotSupportedByFile ? nil : fail(error)
        }
    }

    private mutating func record(_ count: Int) {
        nextByteLimit = nil
        reporter.addSent(count)
        budget.add(count)
    }

    private mutating func fail(_ error: StreamError) -> Sending {
        sendFailure = error
        return .failed
    }
}

// MARK: The head of the response

extension Transfer where C: ~Copyable {
    /// Returns whether the head of the final response has arrived, or arrives without a wait.
    mutating func hasHead() throws(RequestError) -> Bool {
        while true {
            if try readHead() { return true }
            guard try receive() else { return false }
        }
    }

    /// Reads the received bytes, and returns whether the final head is complete; interim responses are reported.
    mutating func readHead() throws(RequestError) -> Bool {
        while head == nil {
            // Without bytes there is no status line to search for.
            if carrier.unread == 0 { return false }
            switch try carrier.nextEvent() {
            case .interim(let status, let header):
                if status == .continue { hasContinued = true }
                onInterim?(ResponseHead(status: status, header: header, target: target))
            case .head(let status, let header): begin(ResponseHead(status: status, header: header, target: target))
            case .needMore, .data, .end: return false
            }
        }
        return true
    }

    /// Returns the head and sets it to nil; call it only after the response has ended.
    mutating func takeHead() -> ResponseHead? { head.take() }

    private mutating func begin(_ received: consuming ResponseHead) {
        head = received
        isLater = false
        bodyLength = carrier.bodyLength
        reporter.expectToReceive(bodyLength)
    }

    /// Receives more bytes.
    ///
    /// Returns false if nothing has arrived, or if other tasks should run first.
    private mutating func receive() throws(RequestError) -> Bool {
        if isBudgetSpent { return false }
        let result: TransferResult
        do throws(StreamError) {
            result = try carrier.receive()
        } catch {
            throw lost(error)
        }
        return try record(result)
    }

    /// Records what was received, and returns whether anything arrived, the end included.
    private mutating func record(_ result: TransferResult) throws(RequestError) -> Bool {
        switch result {
        case .bytes(let count):
            budget.add(count)
            nextByteLimit = nil
            if head == nil {
                let now = Deadline.now
                firstByte = firstByte ?? now
                arrived = now
            }
        case .end:
            try carrier.receiveEnd(after: sendFailure)
            finish(.empty)
        case .wouldBlock: return false
        }
        return true
    }

    /// Returns the error of the call after receiving failed with `error`.
    ///
    /// If the connection was lost, an earlier failure to send explains that better. Any other failure, such as a TLS
    /// alert, says more than the failure to send that it may have caused.
    func lost(_ error: StreamError) -> RequestError { .lost(error.isConnectionLoss ? sendFailure ?? error : error) }

    private mutating func finish(_ trailers: Header) {
        isAtEnd = true
        end = now
        self.trailers = trailers
        reporter.report(atEnd: true)
    }
}

// MARK: The body of the response

extension Transfer where C: ~Copyable {
    /// Receives bytes of the body, directly at their destination if the reader need not parse them.
    ///
    /// Returns the number of bytes: 0 at the end of the body or if `space` is empty, nil if none have arrived.
    mutating func receiveBody(into space: UnsafeMutableRawBufferPointer) throws(RequestError) -> Int? {
        while !isAtEnd {
            if carrier.pending > 0 {
                let count = carrier.takeBody(into: space)
                reporter.addReceived(count)
                return count
            }
            if carrier.receivesDirectly {
                if space.isEmpty { return 0 }
                guard !isBudgetSpent, let count = try receiveDirectly(into: space) else { return nil }
                if count > 0 { return count }
            } else if !(try readBody()) {
                guard try receive() else { return nil }
            }
        }
        return 0
    }

    /// Receives into `space`; returns 0 if the peer has closed or an event must be read, nil if nothing has arrived.
    private mutating func receiveDirectly(into space: UnsafeMutableRawBufferPointer) throws(RequestError) -> Int? {
        let result: TransferResult
        do throws(StreamError) {
            result = try carrier.receiveBody(into: space)
        } catch {
            throw lost(error)
        }
        guard try record(result) else { return nil }
        guard case .bytes(let count) = result else { return 0 }
        reporter.addReceived(count)
        return count
    }

    /// Reads the received bytes; returns false if more are needed.
    private mutating func readBody() throws(RequestError) -> Bool {
        switch try carrier.nextEvent() {
        case .data: break
        case .end(let trailers): finish(trailers)
        case .needMore, .interim, .head: return false
        }
        return true
    }

    /// Returns the number of unread bytes of a chunked body, chunk lines included; nil if none have arrived.
    mutating func arrivedInChunks() throws(RequestError) -> Int? {
        if carrier.unread == 0 { guard try receive() else { return nil } }
        return carrier.unread
    }

    /// Returns whether the received bytes end the body and all of it has been delivered.
    mutating func hasEnded() throws(RequestError) -> Bool {
        while !isAtEnd, carrier.pending == 0, !carrier.expectsBody {
            guard try readBody() else { return false }
        }
        return isAtEnd
    }

    /// Returns a body that has arrived whole with its head; nil if it has not, or exceeds `limit`.
    mutating func wholeBody(upTo limit: Int) throws(RequestError) -> Data? {
        guard !isAtEnd, let body = carrier.takeWholeBody(upTo: limit) else { return nil }
        reporter.addReceived(body.count)
        return try readBody() && isAtEnd ? body : nil
    }
}

// MARK: Waiting

extension Transfer where C: ~Copyable {
    /// Returns what to wait for when no more of the response has arrived.
    mutating func needOfResponse(at now: Deadline = .now) throws(RequestError) -> ExchangeNeed {
        if isBudgetSpent { return .turn }
        // All bytes that the peer sent before sending failed have been read; no more will arrive.
        if let sendFailure { throw .lost(sendFailure) }
        guard carrier.awaitsResponse else {
            return .event(.reading, until: limitOfNextByte(from: now), in: .betweenBytes)
        }
        let limit = firstByteLimit ?? timeLimits.firstByte(from: now)
        firstByteLimit = limit
        return .event(.reading, until: limit, in: .firstByte)
    }

    /// Returns what to wait for when the carrier accepts no more bytes: space, or an event in the directions `other`.
    mutating func needOfSpace(or other: Interest) -> ExchangeNeed {
        let wanted = other.union(.writing)
        if carrier.awaitsPlace { return .event(wanted, until: timeLimits.connecting, in: .waitingForConnection) }
        return .event(wanted, until: limitOfNextByte(from: .now), in: .sending)
    }

    /// Returns the deadline for the next byte.
    ///
    /// A wait that ends without a byte, for example because only TLS records without data arrived, does not extend it.
    private mutating func limitOfNextByte(from now: Deadline) -> Deadline {
        let limit = nextByteLimit ?? timeLimits.betweenBytes(from: now)
        nextByteLimit = limit
        return limit
    }
}
