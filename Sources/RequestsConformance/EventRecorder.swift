@_spi(Lock) import Requests

/// A record of the values that an observer received, in order.
final class EventRecorder<Value: Sendable>: Sendable {
    private let values = Lock<[Value]>([])

    var all: [Value] { values.withLock { $0 } }

    func record(_ value: Value) {
        values.withLock { $0.append(value) }
    }
}
