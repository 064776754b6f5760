import CRequestsPOSIX

/// Wakes a thread that waits for descriptors.
///
/// Signals are not counted: any number before the waiter looks make one wake. A child that was forked shares the
/// descriptors with its parent, and neither signals nor drains.
package struct WakeSignal: ~Copyable, Sendable {
    let reading: Descriptor
    private let writing: Descriptor?
    private let forks = ForkCount.current

    /// Whether this process opened it.
    package var isOwn: Bool { ForkCount.current == forks }

    package init() throws(SystemError) {
        var ends: (Int32, Int32) = (-1, -1)
        guard rp_wake_open(&ends.0, &ends.1) == 0 else { throw .last("eventfd") }
        reading = Descriptor(adopting: ends.0)
        writing = ends.0 == ends.1 ? nil : Descriptor(adopting: ends.1)
    }

    package func signal() {
        guard isOwn else { return }
        switch writing {
        case .some(let end): rp_wake_signal(end.number)
        case .none: rp_wake_signal(reading.number)
        }
    }

    /// Forgets the signals given so far.
    package func drain() {
        guard isOwn else { return }
        rp_wake_drain(reading.number)
    }
}
