#if os(Linux)
import CRequestsPOSIX
import Foundation

/// The forked children of a test, which have no thread but the one that forked.
///
/// A thread of the parent may hold a lock of Swift's runtime during the fork, and a child that needs it waits for it
/// for ever. That is not a defect of the library, so an alarm ends such a child and it is forked again. The hangs are
/// counted, since a lock of ours makes every child hang, or most of them: see ``hangSeldom``.
package struct ForkedChildren {
    /// How often one child is forked at most.
    private static let attempts = 5

    /// How many children were to do their work.
    package private(set) var rounds = 0

    /// How many of them hung when they were forked first.
    package private(set) var hangs = 0

    /// How the latest child ended that did not hang: 0 for true, 1 for false, a negative number for a signal.
    package private(set) var lastStatus: Int32 = 0

    package init() {}

    /// Whether at most half of the children hung when they were forked first.
    ///
    /// Under the thread sanitizer a quarter of them do while four threads make calls, in the runtime's `swift_once`.
    package var hangSeldom: Bool { hangs * 2 <= rounds }

    /// Runs `body` in a forked child, and in a new one when that hangs; it must not take 3 s.
    ///
    /// Returns whether `body` returned true there.
    package mutating func run(_ body: () -> Bool) -> Bool {
        rounds += 1
        for attempt in 0..<Self.attempts {
            let child = rp_fork()
            if child == 0 {
                // The signal ends the child, whatever it waits for; threads of the library block signals.
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
