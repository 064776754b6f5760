import Requests
import RequestsHTTP2
import RequestsPOSIX

// How exchanges that share a connection of HTTP/2 access it and wait (decision 0082).
extension Connection {
    /// Accesses the state of HTTP/2 and then ensures what it needs: a report of the socket, tasks that send or receive,
    /// and that the pool knows its capacity.
    func access<Value: Sendable, Failure: Error>(
        _ http2: HTTP2Session, _ body: (inout HTTP2SessionState) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (result, change, tasks) = http2.access { state in
            let result = Result { () throws(Failure) in try body(&state) }
            state.requestReport(by: stream)
            return (result, state.takeCapacityChange(), state.takeTasks())
        }
        if let change { report(change) }
        if tasks.contains(.sending) {
            CallingThread.queueTask { [self] in await sendOutput(of: http2) }
        }
        if tasks.contains(.attendance) {
            Task { [weak self, reactor = channel.reactor] in
                repeat { try? await reactor.sleep(until: .after(.seconds(1))) } while self?.attend(http2) == true
            }
        }
        return try result.get()
    }

    /// Reports to the pool that the number of exchanges that the connection can carry has changed.
    private func report(_ change: HTTP2SessionState.CapacityChange) {
        if let capacity = change.capacity {
            slot.setPlaces(to: capacity, change: change.number)
        } else {
            slot.retire()
        }
    }

    /// Handles a report of the socket: resumes a call, or exchanges frames itself if none waits.
    func report(to http2: HTTP2Session) {
        let mustSend = access(http2) { state in
            let isElected = state.reportReadiness()
            return !isElected && state.outputCount > 0
        }
        if mustSend { Task { [weak self] in self?.exchangeFrames(of: http2) } }
    }

    private func exchangeFrames(of http2: HTTP2Session) {
        access(http2) { $0.exchangeFrames(over: &stream) }
    }

    private func attend(_ http2: HTTP2Session) -> Bool {
        access(http2) { $0.attend(over: &stream) }
    }
}

// MARK: Waiting

extension Connection {
    /// Suspends until `event` of `place` is signalled or the instant `end` has passed; a blocking call first waits in
    /// place.
    func wait(
        for event: WakeEvent, of place: ExchangePlace, inPlace wanted: Interest, until end: Deadline,
        by deadline: Deadline, on thread: CallingThread?
    ) async throws(WaitError) {
        guard let http2 else { return }
        try channel.checkWait()
        // Otherwise frames of other streams that keep arriving could extend the time limit of the call.
        try deadline.checkTurn()
        if let thread, !wanted.isEmpty {
            if waitInPlace(for: wanted, by: deadline, on: thread, #isolation) { return }
            access(http2) { $0.leaveSocket(place) }
        }
        do throws(WaitError) {
            try await event.wait(by: min(deadline, end))
        } catch {
            guard case .timedOut = error, !deadline.hasPassed else { throw error }
            access(http2) { $0.expire(over: &stream) }
        }
    }

    /// Sends the output of `http2`, and waits while the socket has no space; gives up after ``spaceLimit`` without a
    /// sent byte if no exchange is left.
    private func sendOutput(of http2: HTTP2Session) async {
        func flush() -> (hasSent: Bool, event: WakeEvent?) {
            access(http2) { state in
                state.flushRequest = nil
                return (state.flush(to: &stream), state.beginSpaceWait(with: channel.reactor))
            }
        }
        var limit = Deadline.after(Self.spaceLimit)
        while case (let hasSent, let event?) = flush() {
            if hasSent { limit = .after(Self.spaceLimit) }
            do throws(WaitError) {
                try channel.checkWait()
                try await event.wait(by: limit)
            } catch {
                return access(http2) { state in
                    state.endSpaceWait()
                    // The remaining calls have time limits of their own, and send when they continue.
                    if state.places.isEmpty, state.outputCount > 0 { state.failSending(.system(.peerIsGone)) }
                }
            }
        }
    }

    /// The time without a sent byte after which the task stops waiting: 60 s.
    private static var spaceLimit: Duration { .seconds(60) }
}
