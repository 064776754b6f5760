import Requests
import RequestsHTTP1
import RequestsHTTP2
import RequestsPOSIX

/// The state of an HTTP/2 connection (RFC 9113), under the lock of its ``HTTP2Session``; no function waits.
// Some getters are mutating, because the compiler would otherwise copy the whole value to call them.
struct HTTP2SessionState: ~Copyable {
    let limits: HTTP2Limits
    var frames: ConnectionState
    var events: [ConnectionEvent] = []
    /// The body bytes of the queued frames that are not in `output` yet, in their order.
    var bodies: [UInt8] = []
    /// The output that is being sent.
    var output: [UInt8] = []
    /// The number of bytes of `output` that were sent.
    var sent = 0
    /// Whether the socket did not accept the whole output.
    var isFull = false
    /// The instant since which output waits for the task that sends it; nil if none is to begin.
    var flushRequest: Deadline?
    /// The tasks that must be created.
    var tasks = Tasks()
    /// The event of the task that waits for space for the output; nil if none waits.
    private var spaceEvent: WakeEvent?
    /// The error that ended sending.
    var sendFailure: StreamError?
    /// The error that ended receiving.
    var receiveFailure: StreamError?
    /// Whether the peer sends nothing more.
    var hasEnded = false
    /// Whether the connection must carry no further exchange.
    private var isRetired = false
    var goAway: Frame.GoAway?
    /// The ``capacity`` that was last reported to the pool; at first the default, although the pool may presume fewer.
    private var knownCapacity: Int? = ConnectionState.presumedStreams
    /// Whether it was reported after the peer's SETTINGS had arrived; before that, the pool may presume another number.
    private var knowsSettings = false
    /// The number of changes that were reported.
    private var capacityChanges = 0
    /// Whether a response has begun on the connection, or the peer has reset a stream.
    var hasResponded = false

    // MARK: Exchanges
    /// The places of the exchanges in progress: each has tried to open a stream or has waited, and has not left.
    var places: [ExchangePlace] = []
    /// The places of the open streams, by the index of the stream's slot.
    var streams: [ExchangePlace?] = []
    /// Whether bytes may have arrived that were not received, or space may have become free.
    var mayHaveArrived = true
    /// The call that was resumed to receive, until any call receives.
    var reader: ExchangePlace?
    /// The directions of the socket whose next readiness the reactor reports.
    private var requested = Interest.none
    /// The number of exchanges that depend on reports.
    private var resting = 0
    /// Whether a task will receive and send if no call does.
    private var isAttendancePlanned = false
    /// The number of blocked threads that wait.
    private var waitingThreads = 0
    /// The call whose wait ends at ``timekeeperEnd``, the deadline of ``frames``; nil if none does.
    private var timekeeper: ExchangePlace?
    private var timekeeperEnd = Deadline.distantFuture
    /// The events of calls that have become ready; they are signalled after the lock has been released.
    var woken: [WakeEvent] = []
    /// The events of exchanges that have ended, for reuse.
    private var spareEvents: [WakeEvent] = []

    init(_ limits: HTTP2Limits, beginningWith firstStream: StreamID) {
        self.limits = limits
        frames = ConnectionState(.client, limits: limits, firstStream: firstStream, at: .now)
    }

    /// Whether the connection accepts further exchanges.
    var isUsable: Bool { mutating get { !isOver && sendFailure == nil && !isRetired && !frames.isDraining } }

    /// Whether the peer sends and reads nothing more.
    var isOver: Bool { mutating get { hasEnded || receiveFailure != nil || frames.failure != nil } }

    /// The number of exchanges that the connection can carry at once now; nil if it accepts no more, now or later.
    var capacity: Int? { mutating get { isUsable ? frames.isInDoubt ? 0 : frames.maximumStreams : nil } }

    /// Whether at most one exchange uses the connection.
    var isAlone: Bool { places.count <= 1 }

    /// Ends the use of the connection by further exchanges.
    mutating func retire() { isRetired = true }

    /// Returns the change of ``capacity`` since the last call; nil if there is none.
    mutating func takeCapacityChange() -> CapacityChange? {
        let capacity = capacity
        guard capacity != knownCapacity || frames.isSettled != knowsSettings else { return nil }
        knownCapacity = capacity
        knowsSettings = frames.isSettled
        capacityChanges += 1
        return CapacityChange(capacity: capacity, number: capacityChanges)
    }

    /// Tasks that serve all exchanges.
    struct Tasks: OptionSet, Sendable {
        let rawValue: UInt8

        /// A task that sends the output.
        static var sending: Tasks { Tasks(rawValue: 1) }
        /// A task that receives in 1 s if no call does.
        static var attendance: Tasks { Tasks(rawValue: 2) }
    }

    /// Returns the tasks that must be created.
    mutating func takeTasks() -> Tasks {
        defer { tasks = [] }
        return tasks
    }

    /// A change of the number of exchanges that the connection can carry at once.
    struct CapacityChange: Sendable {
        /// The number; nil if the connection accepts no further exchange, now or later.
        let capacity: Int?
        /// The number of this change; later ones are higher.
        let number: Int
    }
}

// MARK: Streams

extension HTTP2SessionState {
    /// Returns whether the place's stream is open, and opens it with the head of a request if possible.
    mutating func open(
        _ place: ExchangePlace, _ fields: OutgoingFields, endsStream: Bool, over bytes: inout ByteStream
    ) -> Bool {
        join(place)
        let now = Deadline.now
        expire(over: &bytes, at: now)
        switch frames.open(fields, respondsToHead: place.isHEAD, endsStream: endsStream, at: now) {
        case .opened(let stream):
            place.stream = stream
            place.isEarly = !frames.isSettled
            while streams.count <= stream.index { streams.append(nil) }
            streams[stream.index] = place
            return true
        case .full: break
        case .draining: place.arrivals.fail(ended(.beforeMessage), as: refusalOfUnprocessed)
        case .headTooLarge(let limit):
            let detail = "the request header is larger than the \(ErrorText.bytes(limit)) that the server accepts"
            place.arrivals.fail(RequestError(.tooLarge(limit: limit), detail: detail))
        }
        return false
    }

    /// The refusal of a request on which the peer has not acted.
    var refusalOfUnprocessed: StreamRefusal { frames.hasServed ? .excluded : .unprocessed }

    private mutating func join(_ place: ExchangePlace) {
        guard place.index == nil else { return }
        place.index = places.count
        places.append(place)
    }

    /// Ends the use of the connection by the exchange at `place`; its stream is reset unless both sides have ended it.
    ///
    /// With `isTimedOut`, the connection is in doubt if no frame has arrived since the exchange began to wait.
    mutating func leave(_ place: ExchangePlace, isTimedOut: Bool, over bytes: inout ByteStream) {
        // So that no event of its own stream ends its wait, in place of that of another call.
        endWait(of: place)
        let hasStream = place.stream != nil
        if let stream = place.stream {
            let now = Deadline.now
            if isTimedOut { frames.timeOut(stream, waitingSince: place.waitStart ?? now, at: now) }
            frames.reset(stream, .cancel, at: now)
            if streams[stream.index] === place { streams[stream.index] = nil }
            place.stream = nil
            expire(over: &bytes, at: now)
        }
        if let index = place.index {
            places.swapAt(index, places.count - 1)
            places[index].index = index
            places.removeLast()
            place.index = nil
        }
        if let event = place.event.take() { spareEvents.append(event) }
        passReading(from: place)
        // It may have been resumed to open a stream.
        if !hasStream, frames.freePlaces > 0, let next = waitingForStream.first { wake(next) }
    }

    /// Records that `count` bytes of a body were taken, so that the peer may send as many more.
    mutating func consumed(_ count: Int, of stream: StreamSlot) {
        frames.consumed(stream, count, at: .now)
    }
}

// MARK: Waiting

extension HTTP2SessionState {
    /// Begins a wait of the exchange at `place` and returns its event; nil if the exchange must continue at once.
    ///
    /// With `onSocket`, the call waits for the socket itself, until ``leaveSocket(_:)``.
    mutating func beginWait(
        of place: ExchangePlace, for wanted: Interest, _ caller: WaitingCaller, onSocket: Bool, with reactor: Reactor
    ) -> WakeEvent? {
        join(place)
        endWait(of: place)
        place.waitStart = place.waitStart ?? .now
        if place.isNotified {
            place.isNotified = false
            return nil
        }
        if !wanted.isEmpty {
            if place.arrivals.count > 0 || mayHaveArrived || isOver || sendFailure != nil { return nil }
            if wanted.contains(.writing), canWrite(place) { return nil }
        } else {
            passReading(from: place)
        }
        // The last receive may have queued output, such as an acknowledgement.
        if !isFull { requestFlush() }
        let event = place.event ?? spareEvents.popLast() ?? WakeEvent(on: reactor)
        place.event = event
        place.wait = ExchangePlace.Wait(for: wanted, caller)
        if !onSocket { rest(place) }
        if caller == .thread { waitingThreads += 1 }
        if timekeeper == nil, frames.deadline < .distantFuture {
            timekeeper = place
            timekeeperEnd = frames.deadline
        }
        return event
    }

    /// Records that the exchange at `place` waits for its event from now on.
    mutating func leaveSocket(_ place: ExchangePlace) {
        if place.wait != nil { rest(place) }
    }

    /// Records that the exchange at `place` makes no progress until its caller continues.
    mutating func pause(_ place: ExchangePlace) {
        endWait(of: place)
        passReading(from: place)
        if place.index != nil { rest(place) }
    }

    private mutating func rest(_ place: ExchangePlace) {
        guard !place.isResting else { return }
        place.isResting = true
        resting += 1
    }

    private mutating func canWrite(_ place: ExchangePlace) -> Bool {
        place.stream.map { frames.hasRoom(for: $0) } ?? (frames.isDraining || frames.freePlaces > 0)
    }

    /// Requests a report of the socket if an exchange depends on it.
    mutating func requestReport(by bytes: borrowing ByteStream) {
        var wanted = Interest.none
        // Otherwise a call that was resumed receives.
        if resting > 0, !mayHaveArrived, !isOver { wanted.formUnion(bytes.directions(for: .reading)) }
        if isFull, isSending, resting > 0 || spaceEvent != nil { wanted.formUnion(bytes.directions(for: .writing)) }
        guard !requested.isSuperset(of: wanted) else { return }
        requested.formUnion(wanted)
        do throws(SystemError) {
            try bytes.channel.requestReport(of: requested)
        } catch {
            receiveFailure = .system(error)
            wakeAll()
        }
    }

    /// Requests the task that calls ``attend(over:)``.
    private mutating func planAttendance() {
        guard !places.isEmpty, !isAttendancePlanned else { return }
        isAttendancePlanned = true
        tasks.insert(.attendance)
    }

    /// Receives and sends, unless a call has received meanwhile.
    ///
    /// Perhaps no call waits to receive, or the resumed one does not continue, and the peer expects acknowledgements.
    /// Returns whether more may have arrived, so that this must be called again.
    mutating func attend(over bytes: inout ByteStream) -> Bool {
        exchangeFrames(over: &bytes)
        isAttendancePlanned = mayHaveArrived && !isOver && !places.isEmpty
        return isAttendancePlanned
    }

    /// Receives and sends if bytes may have arrived.
    mutating func exchangeFrames(over bytes: inout ByteStream) {
        guard mayHaveArrived else { return }
        receiveAll(from: &bytes)
        flush(to: &bytes)
    }

    /// Returns the instant at which the wait at `place` ends to check the time limits of ``frames``.
    ///
    /// Every blocked thread checks them, because a task may have no thread left to run on.
    mutating func waitEnd(of place: ExchangePlace) -> Deadline {
        timekeeper === place || place.wait?.caller == .thread ? frames.deadline : .distantFuture
    }

    /// Ends the wait of the exchange at `place`, if it waits.
    mutating func endWait(of place: ExchangePlace) {
        if place.wait?.caller == .thread { waitingThreads -= 1 }
        place.wait = nil
        if place.isResting {
            place.isResting = false
            resting -= 1
        }
        guard timekeeper === place else { return }
        timekeeper = nil
        timekeeperEnd = .distantFuture
    }

    /// Ensures that a call that waits checks the time limits of ``frames`` in time.
    mutating func checkTimekeeper() {
        guard frames.deadline < timekeeperEnd else { return }
        if let next = timekeeper ?? readiest(where: { _ in true }) { wake(next) }
    }

    /// Records that the socket has reported readiness, and resumes a call that waits; returns whether a call receives.
    @discardableResult
    mutating func reportReadiness() -> Bool {
        requested = .none
        // A send shows whether it still is.
        isFull = false
        mayHaveArrived = true
        endSpaceWait()
        return electReader()
    }

    /// Begins the wait of a task that sends the output; returns nil if there is nothing to send, sending has ended, or
    /// another task waits.
    mutating func beginSpaceWait(with reactor: Reactor) -> WakeEvent? {
        guard spaceEvent == nil, outputCount > 0, sendFailure == nil, !isOver else { return nil }
        let event = WakeEvent(on: reactor)
        spaceEvent = event
        return event
    }

    mutating func endSpaceWait() {
        if let event = spaceEvent.take() { woken.append(event) }
    }

    /// Resumes one of the calls that wait, if bytes may have arrived; it receives them for all.
    ///
    /// - Returns: Whether a call receives.
    @discardableResult
    mutating func electReader() -> Bool {
        guard mayHaveArrived else { return false }
        planAttendance()
        if reader == nil, let next = readiest(where: \.receives) {
            reader = next
            wake(next)
        }
        return reader != nil
    }

    /// Resumes another call if the exchange at `place`, which does not receive now, was to receive.
    private mutating func passReading(from place: ExchangePlace) {
        if reader === place { reader = nil }
        electReader()
    }

    /// Returns the call among those that wait, and fulfill `condition`, that continues soonest.
    ///
    /// A blocked thread is preferred, because a task may have no thread left to run on, and an actor may be busy.
    private func readiest(where condition: (ExchangePlace.Wait) -> Bool) -> ExchangePlace? {
        // Each waiting call is resting or blocks a thread. Often none waits, because all have become ready.
        guard resting > 0 || waitingThreads > 0 else { return nil }
        var readiest: ExchangePlace?
        for place in places {
            guard let wait = place.wait, condition(wait) else { continue }
            if wait.caller == .thread || wait.caller == .task && waitingThreads == 0 { return place }
            if readiest == nil || readiest?.wait?.caller == .actor { readiest = place }
        }
        return readiest
    }

    /// Ends the present wait of the exchange at `place`, or its next one.
    mutating func notify(_ place: ExchangePlace) {
        if place.wait == nil { place.isNotified = true } else { wake(place) }
    }

    mutating func wake(_ place: ExchangePlace) {
        guard place.wait != nil, let event = place.event else { return }
        endWait(of: place)
        woken.append(event)
    }

    mutating func wakeAll() {
        endSpaceWait()
        for place in places { wake(place) }
    }
}
