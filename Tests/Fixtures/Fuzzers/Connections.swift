import Requests
import RequestsHTTP2

// The script `run` in this folder builds the program, with the main function of libFuzzer. The program is not a target
// of the package.

/// Lets an HTTP/2 client and server follow one script twice, with bytes that arrive whole and one at a time.
///
/// Neither may trap, both must report the same events, the output must be bounded, and the other role must be able to
/// read it.
///
/// If the first byte is odd, SETTINGS have arrived before. A byte below 224 is the number of bytes that arrive next; a
/// larger one is an action of the user, whose argument follows.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let script = UnsafeBufferPointer(start: start, count: count)
    for role in [HTTP2Role.client, .server] {
        let whole = follow(script, as: role, oneByOne: false)
        let pieces = follow(script, as: role, oneByOne: true)
        // The sizes of the pieces determine which stream can write, and thus whether one of our send windows overflows.
        precondition(whole == pieces || whole.overflows || pieces.overflows)
    }
    return 0
}

private func follow(_ script: UnsafeBufferPointer<UInt8>, as role: HTTP2Role, oneByOne: Bool) -> Outcome {
    var side = Side(role)
    var remaining = script[...]
    if let first = remaining.popFirst(), first & 1 == 1 {
        var writer = FrameWriter()
        if role == .server { writer.preface() }
        writer.settings([])
        side.receive(writer.bytes, oneByOne: oneByOne)
    }
    while let step = remaining.popFirst() {
        if step < 224 {
            side.receive(Array(remaining.prefix(Int(step))), oneByOne: oneByOne)
            remaining = remaining.dropFirst(Int(step))
        } else if let argument = remaining.popFirst() {
            side.act(step, argument)
        }
        side.check()
    }
    side.end()
    return side.outcome
}

/// The events of a connection and its error.
private struct Outcome: Equatable {
    /// The events, without parts of bodies and events about sending, which depend on the sizes of the pieces.
    var events: [String] = []
    var bodyLength = 0
    var error: HTTP2Error?
    /// Whether the peer has enlarged a window beyond 2^31 - 1.
    var overflows = false
}

/// A connection whose user follows a script.
private struct Side: ~Copyable {
    private let role: HTTP2Role
    private var state: ConnectionState
    private var now = Deadline(nanoseconds: 1_000_000_000)
    /// All streams, in the order of their beginning.
    private var slots: [StreamSlot] = []
    private var receivedCount = 0
    private var actionCount = 0
    private(set) var outcome = Outcome()
    private var reader: OutputReader

    init(_ role: HTTP2Role) {
        self.role = role
        state = ConnectionState(role, at: now)
        reader = OutputReader(sentBy: role)
    }

    /// Checks that the memory of the connection is bounded by what has happened.
    mutating func check() {
        precondition(state.outputCount <= 70_000 + 20 * receivedCount + 1_000 * actionCount)
        precondition(state.streamCount <= (role == .client ? actionCount : 100))
    }

    mutating func receive(_ bytes: [UInt8], oneByOne: Bool) {
        guard !oneByOne else {
            for byte in bytes { receive([byte], oneByOne: false) }
            return
        }
        receivedCount += bytes.count
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.receive(bytes.span, at: now, into: &events)
        } catch {
            outcome.error = error
            outcome.overflows = outcome.overflows || error.violation == .windowOverflow
        }
        for event in events { record(event) }
    }

    private mutating func record(_ event: ConnectionEvent) {
        switch event {
        case .interim(let slot, let status, let header): note(slot, "\(status.code) \(header.list)")
        case .head(let slot, .response(let status, let header)): note(slot, "\(status.code) \(header.list)")
        case .head(let slot, .request(let head)):
            slots.append(slot)
            note(slot, "\(head.method) \(head.path ?? "") \(head.header.list)")
        case .data(_, let range): outcome.bodyLength += range.count
        case .trailers(let slot, let header): note(slot, "\(header.list)")
        case .ended(let slot): note(slot, "ended")
        case .reset(let slot, let reset):
            outcome.overflows = outcome.overflows || reset.error?.violation == .windowOverflow
            note(slot, "\(reset)")
        case .goAway(let goAway): outcome.events.append("\(goAway)")
        case .settled: outcome.events.append("settled")
        case .capacity, .places, .draining: break
        }
    }

    private mutating func note(_ slot: StreamSlot, _ text: String) {
        outcome.events.append("\(slot.stream) \(text)")
    }

    // MARK: Actions

    mutating func act(_ action: UInt8, _ argument: UInt8) {
        actionCount += 1
        let slot = slots.isEmpty ? StreamSlot(index: 0, stream: 1) : slots[Int(argument) % slots.count]
        switch action & 7 {
        case 0: begin(slot, argument)
        case 1:
            var remaining = Int(argument) << 9
            while remaining > 0 {
                let count = state.write(slot, remaining, endsStream: argument & 1 == 1)
                precondition(count <= remaining)
                remaining -= count
                if count == 0 { break }
            }
        case 2: state.end(slot, trailers: argument & 1 == 1 ? OutgoingFields(trailers: ["x-end": "1"]) : nil)
        case 3: state.consumed(slot, Int(argument) << 10, at: now)
        case 4: state.reset(slot, HTTP2ErrorCode(rawValue: UInt32(argument) % 14), at: now)
        case 5: send(argument == 255 ? .max : Int(argument) << 4)
        case 6: expire(after: .milliseconds(Int(argument) * 100))
        default: if argument & 7 == 0 { state.drain() }
        }
    }

    /// Opens a stream, or responds to one.
    private mutating func begin(_ slot: StreamSlot, _ argument: UInt8) {
        guard role == .client else {
            let fields = OutgoingFields(status: argument & 2 == 0 ? 200 : 103, ["x-a": "\(argument)"])
            return state.respond(to: slot, fields, isInterim: argument & 2 != 0, endsStream: argument & 3 == 1)
        }
        var fields = OutgoingFields()
        let isHead = argument & 2 != 0
        let pairs = [
            (":method", isHead ? "HEAD" : "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/\(argument)"),
        ]
        for (name, value) in pairs { fields.append(name, value) }
        if case .opened(let slot) = state.open(
            fields, respondsToHead: isHead, endsStream: argument & 1 == 1, at: now)
        {
            slots.append(slot)
        }
    }

    private mutating func expire(after duration: Duration) {
        now = now.advanced(by: duration)
        var events: [ConnectionEvent] = []
        do throws(HTTP2Error) {
            try state.expire(at: now, into: &events)
        } catch {
            outcome.error = error
        }
        for event in events { record(event) }
    }

    /// Sends at most `limit` bytes, which the other role reads; bodies are zeros.
    private mutating func send(_ limit: Int) {
        var bytes: [UInt8] = []
        for piece in state.output() where bytes.count < limit {
            switch piece {
            case .frames(let slice): bytes += slice.prefix(limit - bytes.count)
            case .body(_, let count): bytes += [UInt8](repeating: 0, count: min(count, limit - bytes.count))
            }
        }
        do {
            _ = try reader.read(bytes)
        } catch {
            fatalError("the other role cannot read the output: \(error)")
        }
        var events: [ConnectionEvent] = []
        state.written(bytes.count, at: now, into: &events)
        for event in events { record(event) }
    }

    /// Ends all streams, and sends all output.
    mutating func end() {
        for slot in slots {
            state.consumed(slot, 1 << 20, at: now)
            state.reset(slot, .cancel, at: now)
        }
        expire(after: .seconds(60))
        send(.max)
        precondition(state.outputCount == 0)
    }
}
