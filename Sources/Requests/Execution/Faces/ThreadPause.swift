import Dispatch

/// How the thread of a blocking call waits while none of its jobs can run.
///
/// An executor that waits for descriptors brings its own, which waits for them and for the thread's jobs at once.
package protocol ThreadPause: AnyObject, Sendable {
    /// Blocks the calling thread until ``wake()``, until what it watches has come, or until `moment`; may end early.
    ///
    /// Calls `awake` once it no longer blocks, before it resumes any task.
    func wait(until moment: Moment?, then awake: () -> Void)

    /// Takes note of what has come, without blocking.
    func look()

    /// Ends the wait of the thread, or the next one if there is none.
    func wake()

    /// Whether it can wait and be woken: not in a forked child, when it has descriptors of the parent.
    var isUsable: Bool { get }
}

/// Waits for jobs and nothing else.
final class SemaphorePause: ThreadPause {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait(until moment: Moment?, then awake: () -> Void) {
        defer { awake() }
        guard let moment else { return semaphore.wait() }
        // At least a little, so that rounding makes no loop of it.
        let left = (moment - .now) / .milliseconds(1)
        let milliseconds = max(0, min(left, 3_600_000)).rounded(.up)
        _ = semaphore.wait(timeout: .now() + .milliseconds(Int(milliseconds)))
    }

    func look() {}

    var isUsable: Bool { true }

    func wake() {
        semaphore.signal()
    }
}
