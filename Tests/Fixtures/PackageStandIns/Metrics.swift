import Synchronization

// The signatures of swift-metrics that the adaptors use.

/// The record of the stand-in, in place of a metrics factory.
package enum MetricsRecord {
    private static let lines = Mutex<[String]>([])

    package static var all: [String] { lines.withLock { $0 } }

    static func add(_ text: String) { lines.withLock { $0.append(text) } }
}

package final class Timer: Sendable {
    private let label: String

    package init(label: String, dimensions: [(String, String)] = []) { self.label = "\(label) \(dimensions)" }

    package func recordNanoseconds(_ duration: Int64) { MetricsRecord.add("timer \(label) \(duration)") }
}

package class Recorder {
    private let label: String

    package convenience init(label: String, dimensions: [(String, String)] = []) {
        self.init(label: label, dimensions: dimensions, aggregate: true)
    }

    package init(label: String, dimensions: [(String, String)] = [], aggregate: Bool) {
        self.label = "\(aggregate ? "recorder" : "gauge") \(label) \(dimensions)"
    }

    package func record<DataType: BinaryInteger>(_ value: DataType) { record(Double(value)) }

    package func record<DataType: BinaryFloatingPoint>(_ value: DataType) { MetricsRecord.add("\(label) \(value)") }
}

package final class Gauge: Recorder {
    package convenience init(label: String, dimensions: [(String, String)] = []) {
        self.init(label: label, dimensions: dimensions, aggregate: false)
    }
}

package final class Meter: Sendable {
    private let label: String

    package init(label: String, dimensions: [(String, String)] = []) { self.label = "\(label) \(dimensions)" }

    package func increment<DataType: BinaryFloatingPoint>(by amount: DataType) {
        MetricsRecord.add("meter \(label) \(amount)")
    }
}
