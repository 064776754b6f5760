import CRequestsPOSIX
import Requests
import Synchronization

/// A gate that keeps the threads of this process out of a library while the process exits.
///
/// OpenSSL's exit handlers free memory that threads still use. They exist unless OpenSSL was initialized without them,
/// which fails if other code, such as libcurl, has initialized it first. The handler of the gate, which is registered
/// later and so runs earlier, closes the gate and waits for the threads that are inside.
package enum ExitGate {
    private static let closed = 1 << 62
    /// The number of threads inside, combined with ``closed``.
    private static let state = Atomic(0)

    /// Registers the handler, once; call it when the library has been initialized.
    ///
    /// - Returns: False if there is no memory for it.
    package static func install() -> Bool { isInstalled }

    private static let isInstalled: Bool = {
        // Created before a child can need it.
        _ = state.load(ordering: .relaxed)
        // A child of a fork has only the thread that forked. The other threads that were inside do not exist there.
        return pthread_atfork(nil, nil) { ExitGate.state.store(0, ordering: .relaxed) } == 0
            && atexit { ExitGate.close() } == 0
    }()

    /// Begins a use of the library, and returns whether it is allowed; ``leave()`` ends it.
    ///
    /// Uses may be nested.
    package static func enter() -> Bool {
        let before = state.add(1, ordering: .acquiring).oldValue
        // Compared, because the number is negative after a use during which a child was forked.
        if before < closed { return true }
        leave()
        return false
    }

    /// Ends a use that ``enter()`` has allowed.
    package static func leave() {
        state.subtract(1, ordering: .releasing)
    }

    /// The maximum time in milliseconds that an exit waits for uses of the library to end.
    ///
    /// It passes only if a callback within a use exits the process, and so waits for itself.
    private static let longestWait = 1_000

    private static func close() {
        state.bitwiseOr(closed, ordering: .acquiringAndReleasing)
        let end = Deadline.after(.milliseconds(longestWait))
        while state.load(ordering: .acquiring) != closed, !end.hasPassed { DetachedThread.yield() }
    }
}
