import Requests
import RequestsHTTP2
import TestCorpora

/// A client and a server in memory, whose bytes travel in random pieces.
struct ConnectionPair: ~Copyable {
    var client: PairedSide
    var server: PairedSide
    var now = Deadline(nanoseconds: 1_000_000_000)
    var random: SplitMix64

    init(
        seed: UInt64, client clientLimits: HTTP2Limits = HTTP2Limits(), server serverLimits: HTTP2Limits = HTTP2Limits()
    ) {
        random = SplitMix64(state: seed)
        client = PairedSide(.client, limits: clientLimits, seed: seed, at: now)
        server = PairedSide(.server, limits: serverLimits, seed: seed, at: now)
    }

    /// Moves at most `limit` bytes in each direction, and lets both sides read them.
    mutating func transfer(_ limit: Int = .max) {
        server.inbox += client.send(limit, at: now)
        client.inbox += server.send(limit, at: now)
        server.receive(limit, at: now)
        client.receive(limit, at: now)
    }

    /// Lets both sides send and consume all that they plan, without a reset, until nothing moves.
    mutating func finish() {
        // What the last SETTINGS of a script may have closed is opened again.
        repeat { transfer() } while client.state.outputCount + server.state.outputCount > 0
        client.inbox += server.settings(windows: .max, streams: .max, table: .max)
        server.inbox += client.settings(windows: .max, streams: .max, table: .max)
        var rounds = 0
        var isIdle = false
        while !isIdle, rounds < 10_000 {
            rounds += 1
            for id in client.streams.keys.sorted() {
                client.write(id, .max)
                client.consume(id, .max, at: now)
            }
            for id in server.streams.keys.sorted() {
                for _ in 0...2 { server.respond(id) }
                server.write(id, .max)
                server.consume(id, .max, at: now)
            }
            isIdle = client.state.outputCount + server.state.outputCount == 0
            isIdle = isIdle && client.inbox.isEmpty && server.inbox.isEmpty
            transfer()
        }
        now = now.advanced(by: .seconds(2))
        client.expire(at: now)
        server.expire(at: now)
    }

    /// Checks that all exchanges are over, on both sides, and that the windows are whole.
    mutating func checkEnd() {
        for (id, stream) in client.streams {
            if !stream.isOver { client.report("stream \(id) stalls: \(stream)") }
            let isUnprocessed = stream.reset?.isUnprocessed == true
            if let other = server.streams[id] {
                if !other.isOver { server.report("stream \(id) stalls: \(other)") }
                if isUnprocessed, !other.wasResetByUs { client.report("stream \(id) was processed") }
            } else if !stream.wasResetByUs, !isUnprocessed {
                client.report("stream \(id) never arrived: \(stream)")
            }
        }
        if client.state.streamCount > 0 { client.report("streams remain") }
        if server.state.streamCount > 0 { server.report("streams remain") }
        if client.state.sendWindow != server.state.receiveCredit { client.report("the window is not whole") }
        if server.state.sendWindow != client.state.receiveCredit { server.report("the window is not whole") }
        // After the same leak on both sides, the windows are equal. Less than half of a window may wait for an update.
        if client.state.receiveCredit <= client.limits.connectionWindow / 2 { client.report("credit is lost") }
        if server.state.receiveCredit <= server.limits.connectionWindow / 2 { server.report("credit is lost") }
        if client.state.deadline != .distantFuture { client.report("a deadline remains") }
    }

    /// Checks that updates return every byte that has arrived; the windows must not have grown.
    mutating func checkCredit() {
        var (isClientWhole, isServerWhole) = (false, false)
        for _ in 0..<30 where !isClientWhole || !isServerWhole {
            guard client.open(at: now), let id = client.streams.keys.max() else { return client.report("no stream") }
            transfer()
            for _ in 0...2 { server.respond(id) }
            // One frame at a time, because the window is whole only if no data is sent before its update arrives.
            for _ in 0..<100 where client.streams[id]?.isOver == false {
                client.write(id, 16_384)
                server.write(id, 16_384)
                transfer()
                client.consume(id, .max, at: now)
                server.consume(id, .max, at: now)
                if client.state.receiveCredit == client.limits.connectionWindow { isClientWhole = true }
                if server.state.receiveCredit == server.limits.connectionWindow { isServerWhole = true }
            }
        }
        if !isClientWhole { client.report("credit is lost") }
        if !isServerWhole { server.report("credit is lost") }
    }

    /// Takes one step of a random script.
    mutating func step() {
        now = now.advanced(by: .microseconds(Int.random(in: 0...3_000, using: &random)))
        let limit = Int.random(in: 0..<3, using: &random) == 0 ? .max : Int.random(in: 1...40_000, using: &random)
        let ids = (client.streams.keys.sorted().suffix(12), server.streams.keys.sorted().suffix(12))
        let (asked, served) = (ids.0.randomElement(using: &random) ?? 0, ids.1.randomElement(using: &random) ?? 0)
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1, 2: _ = client.open(at: now)
        case 3, 4: client.write(asked, limit)
        case 5: client.consume(asked, limit, at: now)
        case 6: client.reset(asked, .cancel, at: now)
        case 7, 8: server.respond(served)
        case 9, 10: server.write(served, limit)
        case 11: server.consume(served, limit, at: now)
        case 12: resetByServer(served)
        case 13: server.inbox += client.send(limit, at: now)
        case 14: client.inbox += server.send(limit, at: now)
        case 15: server.receive(min(limit, Int.random(in: 1...500, using: &random)), at: now)
        case 16: client.receive(min(limit, Int.random(in: 1...500, using: &random)), at: now)
        case 17:
            client.expire(at: now)
            server.expire(at: now)
        case 18 where Int.random(in: 0..<20, using: &random) == 0: server.state.drain()
        case 18:
            let windows = [0, 1, 1_000, 65_535, .max].randomElement(using: &random) ?? 0
            let streams = [0, 1, .max].randomElement(using: &random) ?? 0
            let table = [0, 64, 200, .max].randomElement(using: &random) ?? 0
            if Bool.random(using: &random) {
                client.inbox += server.settings(windows: windows, streams: streams, table: table)
            } else {
                server.inbox += client.settings(windows: windows, streams: streams, table: table)
            }
        default: transfer(limit)
        }
    }

    private mutating func resetByServer(_ id: StreamID) {
        guard let stream = server.streams[id], !stream.isOver else { return }
        let isUntouched = !stream.hasSentHead && stream.interimsSent == 0 && stream.received == 0
        let code: HTTP2ErrorCode =
            stream.hasSentEnd ? .noError : isUntouched && Bool.random(using: &random) ? .refusedStream : .internalError
        server.reset(id, code, at: now)
    }

    var problems: [String] { client.problems + server.problems }
}
