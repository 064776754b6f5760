import Requests
import RequestsHTTP2
import TestCorpora

/// What both sides send on a stream, so that each can check what it receives.
struct ExchangePlan {
    let requestLength: Int
    let responseLength: Int
    let requestHasTrailers: Bool
    let responseHasTrailers: Bool
    let interims: Int

    init(_ stream: StreamID, seed: UInt64) {
        var random = SplitMix64(state: seed &+ UInt64(stream) &* 0x9E37)
        func length() -> Int {
            switch Int.random(in: 0..<8, using: &random) {
            case 0, 1, 2: 0
            case 3, 4: Int.random(in: 1...100, using: &random)
            case 5, 6: Int.random(in: 1...20_000, using: &random)
            default: Int.random(in: 1...100_000, using: &random)
            }
        }
        (requestLength, responseLength) = (length(), length())
        requestHasTrailers = Bool.random(using: &random)
        responseHasTrailers = Bool.random(using: &random)
        interims = Int.random(in: 0...2, using: &random)
    }

    func length(sentBy role: HTTP2Role) -> Int { role == .client ? requestLength : responseLength }
    func hasTrailers(sentBy role: HTTP2Role) -> Bool { role == .client ? requestHasTrailers : responseHasTrailers }

    private static let content = (0..<120_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }

    /// The bytes at `offsets` of a body.
    static func content(_ stream: StreamID, _ role: HTTP2Role, _ offsets: Range<Int>) -> ArraySlice<UInt8> {
        let start = Int(stream) % 1_000 * 2 + (role == .client ? 0 : 1)
        return content[offsets.lowerBound + start..<offsets.upperBound + start]
    }
}

/// One stream as the user of a side sees it.
struct PairedStream {
    let slot: StreamSlot
    let plan: ExchangePlan
    var hasSentHead = false
    var hasSentEnd = false
    var interimsSent = 0
    /// The number of body bytes that were queued, and that left.
    var queued = 0
    var canWrite = true
    var interimsReceived = 0
    var hasReceivedHead = false
    var received = 0
    var unconsumed = 0
    var hasReceivedTrailers = false
    var hasReceivedEnd = false
    var reset: StreamReset?
    var wasResetByUs = false

    var isOver: Bool { reset != nil || wasResetByUs || hasSentEnd && hasReceivedEnd }
}

/// One side of a connection, with a user who checks each event.
struct PairedSide: ~Copyable {
    let role: HTTP2Role
    let seed: UInt64
    let limits: HTTP2Limits
    var state: ConnectionState
    /// Bytes that have arrived and were not read.
    var inbox: [UInt8] = []
    var streams: [StreamID: PairedStream] = [:]
    /// The number of bytes of each body that have left.
    private var left: [StreamID: Int] = [:]
    private(set) var problems: [String] = []
    private(set) var hasReceivedGoAway = false

    init(_ role: HTTP2Role, limits: HTTP2Limits, seed: UInt64, at now: Deadline) {
        (self.role, self.seed, self.limits) = (role, seed, limits)
        state = ConnectionState(role, limits: limits, at: now)
    }

    var other: HTTP2Role { role == .client ? .server : .client }

    mutating func report(_ problem: String) {
        if problems.count < 5 { problems.append("\(role): \(problem)") }
    }

    // MARK: Transport

    /// Sends at most `limit` bytes, and returns them.
    mutating func send(_ limit: Int, at now: Deadline) -> [UInt8] {
        var bytes: [UInt8] = []
        for piece in state.output() where bytes.count < limit {
            switch piece {
            case .frames(let slice): bytes += slice.prefix(limit - bytes.count)
            case .body(let slot, let count):
                let start = left[slot.stream, default: 0]
                let end = start + min(count, limit - bytes.count)
                bytes += ExchangePlan.content(slot.stream, role, start..<end)
                left[slot.stream] = end
            }
        }
        var events: [ConnectionEvent] = []
        state.written(bytes.count, at: now, into: &events)
        for event in events { receive(event, []) }
        return bytes
    }

    /// Returns SETTINGS that the user of this side never sends, or nothing in the middle of a frame.
    ///
    /// Smaller windows and fewer streams than this side allows cannot make the other side an offender.
    mutating func settings(windows: Int, streams: Int, table: Int) -> [UInt8] {
        guard state.outputCount == 0 else { return [] }
        let values = [(4, min(windows, limits.streamWindow)), (1, min(table, 4_096))]
        let server = role == .server ? [(3, min(streams, limits.concurrentStreams))] : []
        return WireFrame.settings((values + server).map { (UInt16($0.0), UInt32($0.1)) })
    }

    /// Receives at most `limit` of the bytes that have arrived.
    mutating func receive(_ limit: Int, at now: Deadline) {
        let bytes = Array(inbox.prefix(limit))
        inbox.removeFirst(bytes.count)
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.receive(bytes.span, at: now, into: &events)
        } catch {
            report("\(error)")
        }
        for event in events { receive(event, bytes) }
    }

    mutating func expire(at now: Deadline) {
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.expire(at: now, into: &events)
        } catch {
            report("\(error)")
        }
        for event in events { receive(event, []) }
    }

    // MARK: Events

    private mutating func receive(_ event: ConnectionEvent, _ bytes: [UInt8]) {
        switch event {
        case .interim(let slot, _, _):
            change(slot, event) { stream in
                stream.interimsReceived += 1
                return !stream.hasReceivedHead && stream.interimsReceived <= stream.plan.interims
            }
        case .head(let slot, let head):
            if role == .server {
                if streams[slot.stream] != nil { report("stream \(slot.stream) begins twice") }
                streams[slot.stream] = PairedStream(slot: slot, plan: ExchangePlan(slot.stream, seed: seed))
            }
            let isRequest = if case .request = head { true } else { false }
            let isRight = isRequest == (role == .server)
            change(slot, event) { stream in
                defer { stream.hasReceivedHead = true }
                return !stream.hasReceivedHead && isRight
            }
        case .data(let slot, let range):
            let sender = other
            change(slot, event) { stream in
                let offsets = stream.received..<stream.received + range.count
                let isRight = bytes[range] == ExchangePlan.content(slot.stream, sender, offsets)
                stream.received += range.count
                stream.unconsumed += range.count
                return isRight && stream.hasReceivedHead && !stream.hasReceivedEnd
            }
        case .trailers(let slot, let header):
            change(slot, event) { stream in
                defer { stream.hasReceivedTrailers = true }
                return stream.hasReceivedHead && !stream.hasReceivedEnd && header.count == 1
            }
        case .ended(let slot):
            let sender = other
            change(slot, event) { stream in
                defer { stream.hasReceivedEnd = true }
                return !stream.hasReceivedEnd && stream.received == stream.plan.length(sentBy: sender)
                    && stream.hasReceivedTrailers == stream.plan.hasTrailers(sentBy: sender)
            }
        case .reset(let slot, let reset):
            change(slot, event) { stream in
                defer { stream.reset = reset }
                return stream.reset == nil && reset.error == nil
            }
        case .capacity(let slot):
            change(slot, event) { stream in
                // SETTINGS can close the window of a stream that was notified, which is then notified again.
                stream.canWrite = true
                return !stream.hasSentEnd
            }
        case .places(let count): if count < 1 || role == .server { report("\(count) places") }
        case .draining: if role == .server { report("a server reports that it drains") }
        case .goAway: hasReceivedGoAway = true
        case .settled: break
        }
    }

    private mutating func change(
        _ slot: StreamSlot, _ event: ConnectionEvent, _ body: (inout PairedStream) -> Bool
    ) {
        guard var stream = streams[slot.stream], stream.slot == slot, !stream.isOver else {
            return report("\(event) for a stream that is over")
        }
        if !body(&stream) { report("\(event) in \(stream)") }
        streams[slot.stream] = stream
    }

    // MARK: Actions

    /// Opens a stream; returns whether the connection allowed it.
    mutating func open(at now: Deadline) -> Bool {
        // The plan depends on the number, which the state gives: an opened stream that has nothing to send is ended.
        var fields = OutgoingFields()
        fields.append(":method", "POST")
        fields.append(":scheme", "http")
        fields.append(":authority", "a")
        fields.append(":path", "/\(streams.count % 7)")
        fields.append("x-number", "\(streams.count % 50)")
        guard case .opened(let slot) = state.open(fields, endsStream: false, at: now) else { return false }
        streams[slot.stream] = PairedStream(slot: slot, plan: ExchangePlan(slot.stream, seed: seed), hasSentHead: true)
        return true
    }

    /// Sends one interim response, or the head; a server only.
    mutating func respond(_ id: StreamID) {
        guard var stream = streams[id], !stream.isOver, !stream.hasSentHead else { return }
        let isInterim = stream.interimsSent < stream.plan.interims
        let fields = OutgoingFields(status: isInterim ? 103 : 200, ["x-path": "\(id % 11)"])
        state.respond(to: stream.slot, fields, isInterim: isInterim)
        if isInterim { stream.interimsSent += 1 } else { stream.hasSentHead = true }
        streams[id] = stream
    }

    /// Writes at most `limit` bytes of the body, and its end.
    mutating func write(_ id: StreamID, _ limit: Int) {
        guard var stream = streams[id], !stream.isOver, stream.hasSentHead, !stream.hasSentEnd, stream.canWrite
        else { return }
        let length = stream.plan.length(sentBy: role)
        let hasTrailers = stream.plan.hasTrailers(sentBy: role)
        let end = stream.queued + min(length - stream.queued, limit)
        while stream.queued < end {
            let count = end - stream.queued
            let allowed = state.write(stream.slot, count, endsStream: end == length && !hasTrailers)
            if allowed > count { report("more is written than given") }
            stream.queued += allowed
            stream.canWrite = allowed > 0
            if allowed == 0 { break }
        }
        if stream.queued == length {
            stream.hasSentEnd = true
            if hasTrailers {
                state.end(stream.slot, trailers: OutgoingFields(trailers: ["x-end": "\(id)"]))
            } else if length == 0 {
                state.end(stream.slot)
            }
        }
        streams[id] = stream
    }

    mutating func consume(_ id: StreamID, _ limit: Int, at now: Deadline) {
        guard var stream = streams[id], stream.unconsumed > 0 else { return }
        let count = min(limit, stream.unconsumed)
        stream.unconsumed -= count
        state.consumed(stream.slot, count, at: now)
        streams[id] = stream
    }

    mutating func reset(_ id: StreamID, _ code: HTTP2ErrorCode, at now: Deadline) {
        guard let stream = streams[id], !stream.isOver else { return }
        state.reset(stream.slot, code, at: now)
        streams[id]?.wasResetByUs = true
    }
}
