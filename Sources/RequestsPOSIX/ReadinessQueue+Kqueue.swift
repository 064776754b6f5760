#if canImport(Darwin)
import CRequestsPOSIX

/// The kernel's queue of readiness reports: kqueue.
///
/// It makes one report for each request (EV_ONESHOT).
///
/// `ReadinessQueue+Epoll.swift` is its counterpart for Linux.
struct ReadinessQueue: ~Copyable, Sendable {
    private let queue: Descriptor
    private let forks: Int

    /// Whether standing reports are supported: kqueue cannot change the mode of an existing filter (decision 0011).
    static let supportsStandingReports = false

    /// Creates a queue that works only in processes with the fork count `forks`: a child does not inherit it.
    init(forks: Int) throws(SystemError) {
        self.forks = forks
        let number = kqueue()
        guard number >= 0 else { throw .last("kqueue") }
        queue = Descriptor(adopting: number)
        // A kqueue is not inherited by fork, but by exec.
        _ = rp_set_close_on_exec(number)
    }

    /// Watches a wake signal, which stays ready until it is drained.
    func add(_ signal: borrowing WakeSignal) throws(SystemError) {
        try change(signal.reading.number, filter: EVFILT_READ, flags: EV_ADD, .wakeSignal)
    }

    /// Adds a descriptor and requests one report, including one of existing readiness.
    func add(_ descriptor: Int32, token: SlotToken, interest: Interest, standing: Bool) throws(SystemError) {
        guard ForkCount.current == forks else { throw .forkedChild }
        if interest.contains(.reading) {
            try change(descriptor, filter: EVFILT_READ, flags: EV_ADD | EV_ONESHOT, token)
        }
        if interest.contains(.writing) {
            try change(descriptor, filter: EVFILT_WRITE, flags: EV_ADD | EV_ONESHOT, token)
        }
    }

    /// Adds a descriptor that is reported as long as bytes can be read, until it is removed.
    func addReadable(_ descriptor: Int32, token: SlotToken) throws(SystemError) {
        guard ForkCount.current == forks else { throw .forkedChild }
        try change(descriptor, filter: EVFILT_READ, flags: EV_ADD, token)
    }

    /// Requests another report for a descriptor that was added.
    func watch(_ descriptor: Int32, token: SlotToken, interest: Interest, standing: Bool) throws(SystemError) {
        try add(descriptor, token: token, interest: interest, standing: standing)
    }

    /// Removes a descriptor.
    ///
    /// Errors are ignored: one filter may never have been added, and closing the descriptor does the same.
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

    /// Memory for the events of one wait.
    struct Events: ~Copyable {
        fileprivate let buffer = UnsafeMutableBufferPointer<kevent64_s>.allocate(capacity: 256)

        deinit { buffer.deallocate() }
    }

    /// Waits until a descriptor is ready or the time in milliseconds has passed, -1 for no limit, and reports the
    /// events.
    ///
    /// Returns early, without events, if a signal interrupts it.
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
            // The peer is gone in both directions: a wait in the other one must end as well.
            if Int32(event.flags) & EV_EOF != 0, Int32(event.filter) == EVFILT_WRITE { ready.insert(.reading) }
            report(ReadinessEvent(token: SlotToken(bits: event.udata), ready: ready))
        }
    }
}
#endif
