// The signatures of swift-service-lifecycle that the adaptors use.

package protocol Service: Sendable {
    func run() async throws
}

package enum UnixSignal: Sendable {
    case sigterm, sigint
}

package struct ServiceGroup: Sendable {
    package init(services: [any Service], gracefulShutdownSignals: [UnixSignal] = [], logger: Logger) {}
}

/// Waits until ``GracefulShutdown/begin()`` is called, or throws when the task is cancelled.
package func gracefulShutdown() async throws {
    for await _ in GracefulShutdown.current.events { return }
    throw CancellationError()
}

/// A shutdown that a test begins, in place of a group of services.
package struct GracefulShutdown: Sendable {
    @TaskLocal package static var current = GracefulShutdown()

    fileprivate let events: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    package init() { (events, continuation) = AsyncStream.makeStream() }

    package func begin() { continuation.yield() }
}
