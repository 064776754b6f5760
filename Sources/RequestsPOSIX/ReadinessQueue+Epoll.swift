#if !canImport(Darwin)
import CRequestsPOSIX

/// The kernel's queue of readiness reports: epoll.
///
/// It makes one report for each request (EPOLLONESHOT) or, with standing reports, one for each arrival (EPOLLET).
///
/// `ReadinessQueue+Kqueue.swift` is its counterpart for Darwin.
struct ReadinessQueue: ~Copyable, Sendable {
    private let queue: Descriptor
    private let forks: Int

    static let supportsStandingReports = true

    /// Creates a queue that works only in processes with the fork count `forks`: a child shares its parent's queue.
    init(forks: Int) throws(SystemError) {
        self.forks = forks
        let number = epoll_create1(rp_epoll_cloexec)
        guard number >= 0 else { throw .last("epoll_create1") }
        queue = Descriptor(adopting: number)
    }

    /// Watches a wake signal, which stays ready until it is drained.
    func add(_ signal: borrowing WakeSignal) throws(SystemError) {
        try control(EPOLL_CTL_ADD, signal.reading.number, rp_epoll_level_read, .wakeSignal)
    }

    /// Adds a descriptor and requests one report or, with `standing`, all reports, including one of existing readiness.
    func add(_ descriptor: Int32, token: SlotToken, interest: Interest, standing: Bool) throws(SystemError) {
        try checkProcess()
        try control(EPOLL_CTL_ADD, descriptor, Self.mask(interest, standing), token)
    }

    /// Adds a descriptor that is reported as long as bytes can be read, until it is removed.
    func addReadable(_ descriptor: Int32, token: SlotToken) throws(SystemError) {
        try checkProcess()
        try control(EPOLL_CTL_ADD, descriptor, rp_epoll_read, token)
    }

    /// Requests another report for a descriptor that was added, in the directions of `interest` only.
    func watch(_ descriptor: Int32, token: SlotToken, interest: Interest, standing: Bool) throws(SystemError) {
        try checkProcess()
        try control(EPOLL_CTL_MOD, descriptor, Self.mask(interest, standing), token)
    }

    /// Removes a descriptor before it is closed: while a forked child has it open, epoll would continue to report it.
    func remove(_ descriptor: Int32) {
        guard ForkCount.current == forks else { return }
        var unused = epoll_event()
        _ = epoll_ctl(queue.number, EPOLL_CTL_DEL, descriptor, &unused)
    }

    /// Throws in a forked child, whose changes would affect its parent's queue.
    private func checkProcess() throws(SystemError) {
        guard ForkCount.current == forks else { throw .forkedChild }
    }

    private func control(
        _ operation: Int32, _ descriptor: Int32, _ mask: UInt32, _ token: SlotToken
    ) throws(SystemError) {
        var event = epoll_event(events: mask, data: epoll_data_t(u64: token.bits))
        guard epoll_ctl(queue.number, operation, descriptor, &event) == 0 else { throw .last("epoll_ctl") }
    }

    private static func mask(_ interest: Interest, _ standing: Bool) -> UInt32 {
        (standing ? rp_epoll_edge : rp_epoll_once) | (interest.contains(.reading) ? rp_epoll_read : 0)
            | (interest.contains(.writing) ? rp_epoll_write : 0)
    }

    /// Memory for the events of one wait.
    struct Events: ~Copyable {
        fileprivate let buffer = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)

        deinit { buffer.deallocate() }
    }

    /// Waits until a descriptor is ready or the time in milliseconds has passed, -1 for no limit, and reports the
    /// events.
    ///
    /// Returns early, without events, if a signal interrupts it.
    func wait(into events: borrowing Events, milliseconds: Int32, _ report: (ReadinessEvent) -> Void) {
        let buffer = events.buffer
        let count = epoll_wait(queue.number, buffer.baseAddress, Int32(buffer.count), milliseconds)
        guard count > 0 else { return }
        for event in buffer[..<Int(count)] {
            var ready = Interest.none
            if event.events & rp_epoll_readable != 0 { ready.insert(.reading) }
            if event.events & rp_epoll_writable != 0 { ready.insert(.writing) }
            report(ReadinessEvent(token: SlotToken(bits: event.data.u64), ready: ready))
        }
    }
}
#endif
