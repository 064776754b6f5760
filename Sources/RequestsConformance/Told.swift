@_spi(Lock) import Requests

/// What an observer was told, in order.
final class Told<Value: Sendable>: Sendable {
    private let values = Lock<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func tell(_ value: Value) {
        values.withLock { $0.append(value) }
    }
}
