import CRequestsPOSIX
import Synchronization

/// The number of forks without exec between the process that first read it and this one (decision 0019).
package enum ForkCount {
    /// The count in this process; reading it needs no system call.
    package static var current: Int {
        _ = isCounting
        return count.value.load(ordering: .relaxed)
    }

    private final class Count: Sendable {
        let value = Atomic(0)
    }

    private static let count = Count()

    private static let isCounting: Bool = {
        // Created before a child can need it: a lock that another thread held would stay locked there.
        _ = count
        // Runs in each child, which has only this thread: anything but an atomic increment could deadlock.
        return pthread_atfork(nil, nil) { ForkCount.increment() } == 0
    }()

    private static func increment() {
        count.value.add(1, ordering: .relaxed)
    }
}
