import CRequestsPOSIX
import Synchronization

/// How many forks without exec lie between the process that asked first and this one; to ask costs no system call.
package enum ForkCount {
    package static var current: Int {
        _ = isCounting
        return count.value.load(ordering: .relaxed)
    }

    private final class Count: Sendable {
        let value = Atomic(0)
    }

    private static let count = Count()

    private static let isCounting: Bool = {
        // Made before a child can need it: there, nobody would be left to finish it.
        _ = count
        // Runs in each child, which has nothing but this thread: it may do no more than this.
        return pthread_atfork(nil, nil) { ForkCount.note() } == 0
    }()

    private static func note() {
        count.value.add(1, ordering: .relaxed)
    }
}
