import Dispatch
import Synchronization

/// The time during which one thread leads, with its progress for the watch.
final class LeaderTerm: Sendable {
    /// The number of waits for connections.
    private let rounds = Atomic(0)
    /// The number of beginnings and ends of services; it is odd while a connection is served.
    private let services = Atomic(0)

    func beginRound() { rounds.add(1, ordering: .sequentiallyConsistent) }
    func beginService() { services.add(1, ordering: .sequentiallyConsistent) }
    func endService() { services.add(1, ordering: .sequentiallyConsistent) }

    /// The progress of the leader at one time.
    struct Progress: Equatable {
        let rounds: Int
        let services: Int

        /// Whether the leader serves a connection.
        var isBusy: Bool { services % 2 != 0 }

        /// Returns whether the leader has been busy since `earlier` and has served few connections.
        func isSlow(since earlier: Progress) -> Bool {
            isBusy && earlier.isBusy && rounds == earlier.rounds && services - earlier.services < 2 * 8
        }
    }

    var progress: Progress {
        Progress(
            rounds: rounds.load(ordering: .sequentiallyConsistent),
            services: services.load(ordering: .sequentiallyConsistent))
    }
}

/// A watch over the leaders, on its own thread, that notices handlers which occupy a leader.
///
/// A handler can block the thread or compute for a long time. The lead is then passed on after 2 to 4 ms.
final class LeaderWatch: Sendable {
    private let signal = DispatchSemaphore(value: 0)
    /// Whether the watch waits until a leader serves a connection.
    private let isPaused = Atomic(false)
    private let isStopping = Atomic(false)

    private static let interval = DispatchTimeInterval.milliseconds(2)
    /// The number of quiet intervals after which the watch pauses.
    private static let quietIntervals = 50

    /// Watches until ``stop()``, and calls `onDelay` with the term of a leader that is occupied.
    func run(until current: () -> LeaderTerm?, onDelay: (LeaderTerm) -> Void) {
        var last: (term: LeaderTerm, progress: LeaderTerm.Progress)?
        var quiet = 0
        while !isStopping.load(ordering: .sequentiallyConsistent) {
            _ = signal.wait(timeout: .now() + Self.interval)
            guard let term = current() else { continue }
            let progress = term.progress
            let previous = last.flatMap { $0.term === term ? $0.progress : nil }
            last = (term, progress)
            if let previous, progress.isSlow(since: previous) { onDelay(term) }
            quiet = progress == previous && !progress.isBusy ? quiet + 1 : 0
            guard quiet == Self.quietIntervals else { continue }
            quiet = 0
            pause { current()?.progress == progress }
        }
    }

    /// Waits until a leader serves a connection, unless that has happened since `isUnchanged` was last true.
    private func pause(_ isUnchanged: () -> Bool) {
        isPaused.store(true, ordering: .sequentiallyConsistent)
        // A leader that has not seen the line above has made its progress before this one.
        if isUnchanged(), !isStopping.load(ordering: .sequentiallyConsistent) { signal.wait() }
        isPaused.store(false, ordering: .sequentiallyConsistent)
    }

    /// Ends the pause of the watch; a leader calls it after it has begun to serve.
    func wake() {
        // The load comes first because it costs less than an exchange, and nearly always suffices.
        guard isPaused.load(ordering: .sequentiallyConsistent),
            isPaused.exchange(false, ordering: .sequentiallyConsistent)
        else { return }
        signal.signal()
    }

    func stop() {
        isStopping.store(true, ordering: .sequentiallyConsistent)
        signal.signal()
    }
}
