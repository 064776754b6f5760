import CRequestsPOSIX

/// Threads of this library, for work that must not block the cooperative pool.
package enum DetachedThread {
    /// Starts a detached thread that runs `body` once.
    ///
    /// All signals are blocked in it. `name` is truncated to 15 bytes.
    ///
    /// - Throws: `EAGAIN` if the system allows no more threads.
    package static func start(
        named name: String, stackBytes: Int = 1 << 20, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        // Retained for the thread, which releases it; if the thread does not start, it is released below.
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

    /// Lets other threads run before the calling one continues.
    package static func yield() {
        sched_yield()
    }

    /// The function of a thread, as an object that a C pointer can refer to.
    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }
}
