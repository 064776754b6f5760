import Dispatch

/// An object with which a ``CallingThread`` waits while none of its jobs can run.
///
/// An executor that waits for descriptors supplies its own, which waits for them and for the jobs of the thread at
/// once.
package protocol ThreadPause: AnyObject, Sendable {
    /// Blocks the calling thread until ``wake()``, an event that it watches, or `deadline`; may return early.
    ///
    /// It calls `awake` once it no longer blocks, before it resumes any task.
    func wait(until deadline: Deadline?, then awake: () -> Void)

    /// Processes the events that have occurred, without blocking.
    func processEvents()

    /// Ends the current wait of the thread, or the next one if it is not waiting.
    func wake()

    /// Whether tasks are waiting for events here.
    var isWatching: Bool { get }

    /// Resumes the tasks that wait here, and later any task that would wait here, because the thread has left.
    func end()
}

/// A pause that waits only for jobs.
final class SemaphorePause: ThreadPause {
    private let semaphore = DispatchSemaphore(value: 0)

    func wait(until deadline: Deadline?, then awake: () -> Void) {
        defer { awake() }
        guard let deadline else { return semaphore.wait() }
        // Rounded up, because a wait of less than 1 ms would become a busy loop; 1 h at most.
        let left = deadline.remaining / .milliseconds(1)
        let milliseconds = min(left, 3_600_000).rounded(.up)
        _ = semaphore.wait(timeout: .now() + .milliseconds(Int(milliseconds)))
    }

    func processEvents() {}

    var isWatching: Bool { false }

    func end() {}

    func wake() {
        semaphore.signal()
    }
}
