import Synchronization

// The signatures of swift-metrics that the adaptors use.

package protocol MeterHandler: AnyObject, Sendable {
    func set(_ value: Double)

    func increment(by amount: Double)

    func decrement(by amount: Double)
}

package protocol RecorderHandler: AnyObject, Sendable {
    func record(_ value: Double)
}

package protocol TimerHandler: AnyObject, Sendable {
    func recordNanoseconds(_ duration: Int64)
}

package protocol MetricsFactory: Sendable {
    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler
}

package enum MetricsSystem {
    @TaskLocal package static var factory: any MetricsFactory = TestMetrics()
}

package final class Timer: Sendable {
    private let handler: any TimerHandler

    package init(label: String, dimensions: [(String, String)] = []) {
        handler = MetricsSystem.factory.makeTimer(label: label, dimensions: dimensions)
    }

    package func recordNanoseconds(_ duration: Int64) { handler.recordNanoseconds(duration) }

    package func recordSeconds<DataType: BinaryFloatingPoint>(_ duration: DataType) {
        let count = Double(duration) * 1e9
        recordNanoseconds(count < Double(Int64.max) ? Int64(count) : .max)
    }
}

package class Recorder {
    private let handler: any RecorderHandler

    package convenience init(label: String, dimensions: [(String, String)] = []) {
        self.init(label: label, dimensions: dimensions, aggregate: true)
    }

    package init(label: String, dimensions: [(String, String)] = [], aggregate: Bool) {
        handler = MetricsSystem.factory.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    package func record<DataType: BinaryInteger>(_ value: DataType) { handler.record(Double(value)) }

    package func record<DataType: BinaryFloatingPoint>(_ value: DataType) { handler.record(Double(value)) }
}

package final class Gauge: Recorder {
    package convenience init(label: String, dimensions: [(String, String)] = []) {
        self.init(label: label, dimensions: dimensions, aggregate: false)
    }
}

package final class Meter: Sendable {
    private let handler: any MeterHandler

    package init(label: String, dimensions: [(String, String)] = []) {
        handler = MetricsSystem.factory.makeMeter(label: label, dimensions: dimensions)
    }

    package func set<DataType: BinaryFloatingPoint>(_ value: DataType) { handler.set(Double(value)) }

    package func increment<DataType: BinaryFloatingPoint>(by amount: DataType) { handler.increment(by: Double(amount)) }

    package func decrement<DataType: BinaryFloatingPoint>(by amount: DataType) { handler.decrement(by: Double(amount)) }
}

/// A factory whose values tests read, in the order in which the handlers were made.
///
/// As with the factories in use, a meter begins at 0 and drops amounts that are not positive.
package final class TestMetrics: MetricsFactory {
    package final class Handler: MeterHandler, RecorderHandler, TimerHandler {
        package let label: String
        package let dimensions: [String]
        package let kind: String
        private let recorded = Mutex<[Double]>([])

        init(_ kind: String, _ label: String, _ dimensions: [(String, String)]) {
            (self.kind, self.label, self.dimensions) = (kind, label, dimensions.map { "\($0.0)=\($0.1)" })
        }

        /// The recorded values; of a meter, its value after each change.
        package var values: [Double] { recorded.withLock { $0 } }

        package func set(_ value: Double) { record(value) }

        package func increment(by amount: Double) { add(amount, amount) }

        package func decrement(by amount: Double) { add(-amount, amount) }

        private func add(_ change: Double, _ amount: Double) {
            guard amount > 0, amount.isFinite else { return }
            recorded.withLock { $0.append(($0.last ?? 0) + change) }
        }

        package func record(_ value: Double) { recorded.withLock { $0.append(value) } }

        package func recordNanoseconds(_ duration: Int64) { record(Double(duration)) }
    }

    private let made = Mutex<[Handler]>([])

    package init() {}

    /// Returns the handlers that were made with `label`.
    package func handlers(_ label: String) -> [Handler] { made.withLock { $0.filter { $0.label == label } } }

    private func make(_ kind: String, _ label: String, _ dimensions: [(String, String)]) -> Handler {
        let handler = Handler(kind, label, dimensions)
        made.withLock { $0.append(handler) }
        return handler
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        make("meter", label, dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        make(aggregate ? "recorder" : "gauge", label, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        make("timer", label, dimensions)
    }
}
