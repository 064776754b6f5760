#if os(Linux)
import CRequestsPOSIX
import Foundation

/// The forked children of a test, each with the forking thread as its only thread.
///
/// A thread of the parent may hold a lock of the Swift runtime during the fork, and a child that needs the lock never
/// ends. That is not a defect of the library, so an alarm ends such a child, and it is forked again. The hangs are
/// counted, because a lock of the library would make most children hang; see ``hangsAreRare``.
package struct ForkedChildren {
    /// The maximum number of forks for one child.
    private static let attempts = 5

    /// The number of children.
    package private(set) var rounds = 0

    /// The number of children that hung at their first fork.
    package private(set) var hangs = 0

    /// The status of the last child that did not hang: 0 for true, 1 for false, or the negative number of a signal.
    package private(set) var lastStatus: Int32 = 0

    package init() {}

    /// Whether at most half of the children hung at their first fork.
    ///
    /// Under the thread sanitizer a quarter of them do while four threads make calls, in the runtime's `swift_once`.
    package var hangsAreRare: Bool { hangs * 2 <= rounds }

    /// Runs `body` in a forked child, and again in a new one if the child hangs.
    ///
    /// - Parameter body: The work of the child; it must take less than 3 s.
    /// - Returns: Whether `body` returned true.
    package mutating func run(_ body: () -> Bool) -> Bool {
        rounds += 1
        for attempt in 0..<Self.attempts {
            let child = rp_fork()
            if child == 0 {
                // The signal ends the child even if it waits. It is unblocked here, because the library's
                // threads block signals.
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGALRM)
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                alarm(3)
                rp_exit_child(body() ? 0 : 1)
            }
            guard child > 0 else { return false }
            let status = rp_wait_for_child(child)
            guard status == -SIGALRM else {
                lastStatus = status
                return status == 0
            }
            if attempt == 0 { hangs += 1 }
        }
        return false
    }
}
#endif
