#if canImport(Darwin)
import CRequestsPOSIX

/// The kernel's list of descriptors to watch: kqueue, each report of which has to be asked for (EV_ONESHOT).
///
/// ``ReadinessQueue+Epoll`` is the same for Linux.
struct ReadinessQueue: ~Copyable, Sendable {
    private let queue: Descriptor
    private let forks: Int

    /// Whether it can go on to report what arrives without being asked again: not changed for filters that exist.
    static let canStand = false

    /// A queue for processes that were forked, without exec, `forks` times: a child has none of its parent's.
    init(forks: Int) throws(SystemError) {
        self.forks = forks
        let number = kqueue()
        guard number >= 0 else { throw .last("kqueue") }
        queue = Descriptor(adopting: number)
        // A kqueue is not inherited by fork; exec is what this is for.
        _ = rp_set_close_on_exec(number)
    }

    /// Watches a wake signal, which stays ready until it is drained.
    func add(_ signal: borrowing WakeSignal) throws(SystemError) {
        try change(signal.reading.number, filter: EVFILT_READ, flags: EV_ADD, .wakeSignal)
    }

    /// Watches a descriptor until it is ready, once; what is ready already is reported too.
    func add(_ descriptor: Int32, token: SlotToken, interest: Interest, standing: Bool) throws(SystemError) {
        guard ForkCount.current == forks else { throw .forkedChild }
        if interest.contains(.reading) {
            try change(descriptor, filter: EVFILT_READ, flags: EV_ADD | EV_ONESHOT, token)
        }
        if interest.contains(.writing) {
            try change(descriptor, filter: EVFILT_WRITE, flags: EV_ADD | EV_ONESHOT, token)
        }
    }

    /// Watches a descriptor that was added once more.
    func watch(_ descriptor: Int32, token: SlotToken, interest: Interest, standing: Bool) throws(SystemError) {
        try add(descriptor, token: token, interest: interest, standing: standing)
    }

    /// Forgets a descriptor.
    ///
    /// Closing it does the same, so an error (one filter was never added) means nothing.
    func remove(_ descriptor: Int32) {
        guard ForkCount.current == forks else { return }
        try? change(descriptor, filter: EVFILT_READ, flags: EV_DELETE, .wakeSignal)
        try? change(descriptor, filter: EVFILT_WRITE, flags: EV_DELETE, .wakeSignal)
    }

    private func change(
        _ descriptor: Int32, filter: Int32, flags: Int32, _ token: SlotToken
    ) throws(SystemError) {
        var event = kevent64_s()
        event.ident = UInt64(descriptor)
        event.filter = Int16(filter)
        event.flags = UInt16(flags)
        event.udata = token.bits
        guard kevent64(queue.number, &event, 1, nil, 0, 0, nil) == 0 else { throw .last("kevent64") }
    }

    /// Room for the events of one wait.
    struct Events: ~Copyable {
        fileprivate let buffer = UnsafeMutableBufferPointer<kevent64_s>.allocate(capacity: 256)

        deinit { buffer.deallocate() }
    }

    /// Waits until something is ready or the time has passed, and reports what is; -1 is for ever.
    ///
    /// Returns early, with nothing, when a signal interrupts it.
    func wait(into events: borrowing Events, milliseconds: Int32, _ report: (ReadinessEvent) -> Void) {
        let buffer = events.buffer
        var timeout = timespec(
            tv_sec: Int(milliseconds) / 1000, tv_nsec: Int(milliseconds) % 1000 * 1_000_000)
        let count = withUnsafePointer(to: &timeout) { timeout in
            kevent64(
                queue.number, nil, 0, buffer.baseAddress, Int32(buffer.count), 0, milliseconds < 0 ? nil : timeout)
        }
        guard count > 0 else { return }
        for event in buffer[..<Int(count)] {
            var ready: Interest = Int32(event.filter) == EVFILT_WRITE ? .writing : .reading
            // The peer is gone in both directions: nobody may go on waiting in the other one.
            if Int32(event.flags) & EV_EOF != 0, Int32(event.filter) == EVFILT_WRITE { ready.insert(.reading) }
            report(ReadinessEvent(token: SlotToken(bits: event.udata), ready: ready))
        }
    }
}
#endif
