#if os(Linux)
import CRequestsPOSIX
import CRequestsTest
import Foundation

/// The forked children of a test, each with the forking thread as its only thread.
///
/// A parent's thread may hold a lock of the Swift runtime during the fork, and a child that needs the lock never
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
            let child = Self.start(lasting: 3, body)
            guard child > 0 else { return false }
            let status = rp_wait_for_child(child, 10)
            guard status == -SIGALRM || status == -SIGKILL else {
                lastStatus = status
                return status == 0
            }
            if attempt == 0 { hangs += 1 }
        }
        return false
    }
}

extension ForkedChildren {
    /// Starts `body` in a forked child, which exits with 0 if it returns true.
    ///
    /// - Parameters:
    ///   - seconds: The time after which the child ends, whatever it does.
    ///   - closesDescriptors: Whether the child closes all descriptors of the tests that run now. Otherwise their locks
    ///     last until it ends.
    ///   - body: The work of the child.
    /// - Returns: The process of the child.
    package static func start(lasting seconds: UInt32, closesDescriptors: Bool = false, _ body: () -> Bool) -> Int32 {
        let child = rp_fork(seconds, closesDescriptors)
        guard child == 0 else { return child }
        rp_exit_child(body() ? 0 : 1)
        return 0
    }
}
#endif
