@_spi(Lock) import Requests
import RequestsPOSIX

/// A task executor with a fixed number of threads, independent of the number of processors.
package final class TaskThreads: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isStopped = false
    }

    private let state = Lock(State())
    private let wakers: [ThreadPoll]

    fileprivate init(_ count: Int) throws {
        wakers = try (0..<count).map { _ in try ThreadPoll() }
        for waker in wakers {
            try DetachedThread.start(named: "pool") { [self] in
                while let job = next(waker) { job.runSynchronously(on: asUnownedTaskExecutor()) }
            }
        }
    }

    private func next(_ waker: ThreadPoll) -> UnownedJob? {
        while true {
            let (job, isStopped) = state.withLock { state in
                (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), state.isStopped)
            }
            if let job { return job }
            if isStopped { return nil }
            waker.wait(until: nil, then: {})
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
        for waker in wakers { waker.wake() }
    }

    fileprivate func stop() {
        state.withLock { $0.isStopped = true }
        for waker in wakers { waker.wake() }
    }
}

/// Runs `body` with a task executor of `count` threads.
package func withThreads<Value>(
    _ count: Int, _ body: (TaskThreads) async throws -> Value
) async throws -> Value {
    let threads = try TaskThreads(count)
    defer { threads.stop() }
    return try await body(threads)
}
