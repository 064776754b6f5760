@_spi(Lock) import Requests

/// What an observer was told, in order.
final class Told: Sendable {
    private let values = Lock<[TransferProgress]>([])

    var all: [TransferProgress] { values.withLock { $0 } }

    func tell(_ progress: TransferProgress) {
        values.withLock { $0.append(progress) }
    }
}
