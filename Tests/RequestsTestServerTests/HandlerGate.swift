import Dispatch
@_spi(Lock) import Requests
import Synchronization

/// A gate at which handlers wait until it opens: blocked, computing or suspended.
final class HandlerGate: Sendable {
    private let isOpen = Atomic(false)
    private let count = Atomic(0)
    private let semaphore = DispatchSemaphore(value: 0)
    private let suspended = Lock<[CheckedContinuation<Void, Never>]>([])

    /// The number of handlers that have arrived.
    var arrived: Int { count.load(ordering: .sequentiallyConsistent) }

    func block() {
        count.add(1, ordering: .sequentiallyConsistent)
        semaphore.wait()
        semaphore.signal()
    }

    func compute() {
        count.add(1, ordering: .sequentiallyConsistent)
        while !isOpen.load(ordering: .sequentiallyConsistent) {}
    }

    func suspend() async {
        await withCheckedContinuation { continuation in
            suspended.withLock { $0.append(continuation) }
            count.add(1, ordering: .sequentiallyConsistent)
        }
    }

    func open() {
        isOpen.store(true, ordering: .sequentiallyConsistent)
        semaphore.signal()
        let continuations = suspended.withLock { suspended in
            defer { suspended = [] }
            return suspended
        }
        for continuation in continuations { continuation.resume() }
    }
}
