package import RequestsPOSIX

/// A task executor with one thread, which waits for sockets and runs the tasks that use them.
///
/// When a socket is ready, the task that waits for it resumes on the same thread, without a thread switch. That makes
/// small requests faster, above all many at once, if client and server have a core each:
///
/// ```swift
/// try await withTaskExecutorPreference(SocketTaskExecutor.shared) {
///     try await client.perform(.repos(of: "octocat"))
/// }
/// ```
///
/// All tasks with this preference share one thread. They must not block it, and should not compute for long: meanwhile
/// no other task continues, and no response is read. Use it for programs that mostly send requests, such as gateways
/// and crawlers, and keep the default for others.
///
/// Connections that such tasks establish belong to this executor. Another task can use them, but the thread of this
/// executor then ends its waits, so use a separate ``SocketExecutor`` for each task executor. Actors with their own
/// executor, such as the main actor, continue to run on it. If the system has no thread or no descriptor left when the
/// executor is created, the tasks run in the global pool.
///
/// The thread ends when the executor, its tasks and its connections have been released.
public final class SocketTaskExecutor: TaskExecutor {
    /// An executor that the whole process can share.
    public static let shared = SocketTaskExecutor()

    /// The reactor; nil if its thread could not be started.
    private let reactor: Reactor?

    /// Creates an executor with a new thread.
    public init() {
        reactor = try? Reactor(runsTasks: true)
        reactor?.begin(self)
    }

    /// Adds a job of a task.
    public func enqueue(_ job: consuming ExecutorJob) {
        if let reactor { reactor.enqueue(job) } else { globalConcurrentExecutor.enqueue(job) }
    }

    /// The reactor whose thread runs the current task.
    ///
    /// Nil for tasks of other executors, and where the system does not return a task's executor as an object.
    package static var currentReactor: Reactor? {
        guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return nil }
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        return (executor as? SocketTaskExecutor)?.reactor
    }
}
