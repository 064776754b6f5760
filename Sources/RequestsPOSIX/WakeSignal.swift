import CRequestsPOSIX

/// A signal that wakes a thread which waits for descriptors.
///
/// Signals are not counted: any number of them before the thread checks cause one wake. A forked child shares the
/// descriptors with its parent, so it neither signals nor drains (decision 0019).
package struct WakeSignal: ~Copyable, Sendable {
    let reading: Descriptor
    private let writing: Descriptor?
    private let forks = ForkCount.current

    /// Whether this process created it.
    package var isOwn: Bool { ForkCount.current == forks }

    package init() throws(SystemError) {
        var ends: (Int32, Int32) = (-1, -1)
        guard rp_wake_open(&ends.0, &ends.1) == 0 else { throw .last("eventfd") }
        reading = Descriptor(adopting: ends.0)
        writing = ends.0 == ends.1 ? nil : Descriptor(adopting: ends.1)
    }

    /// Makes the descriptor that is read ready.
    package func signal() {
        guard isOwn else { return }
        switch writing {
        case .some(let end): rp_wake_signal(end.number)
        case .none: rp_wake_signal(reading.number)
        }
    }

    /// Clears the signals sent so far.
    package func drain() {
        guard isOwn else { return }
        rp_wake_drain(reading.number)
    }
}
