import CRequestsPOSIX

/// Threads of our own, for what must not block the cooperative pool.
package enum DetachedThread {
    /// Starts a thread that runs `body` once and ends; nobody waits for it.
    ///
    /// Every signal is blocked in it. `name` is cut to 15 bytes. The error is `EAGAIN` when the system allows no more
    /// threads.
    package static func start(
        named name: String, stackBytes: Int = 1 << 20, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        let context = Unmanaged.passRetained(Body(run: body))
        let code = rp_thread_start(
            name, stackBytes,
            { context in
                guard let context else { return }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw SystemError("pthread_create", code: code)
        }
    }

    /// Lets other threads run before this one goes on.
    package static func yield() {
        sched_yield()
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
