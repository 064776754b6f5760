import Requests

/// An observer that measures requests with the metrics of OpenTelemetry's semantic conventions for HTTP clients.
///
/// ```swift
/// let metrics = RequestMetrics { measurement in
///     guard measurement.instrument.name == "http.client.request.duration"
///     else { return }
///     histogram.record(measurement.value, measurement.attributes)
/// }
/// let executor = SocketExecutor().observing(.attempts, by: metrics).retrying()
/// ```
///
/// For each request it records `http.client.active_requests` twice, and at its end `http.client.request.duration`,
/// `http.client.request.body.size` and `http.client.response.body.size`. For the seat `.attempts`, these are the
/// requests that are sent. The duration and the size of a streamed response are those at the end of its body.
///
/// The attributes have few different values: `url.template` is the path without the interpolated values, and unknown
/// methods are `_OTHER`.
public struct RequestMetrics: Observing.Observer {
    /// One value of a metric.
    public struct Measurement: Sendable {
        /// The metric.
        public var instrument: Instrument
        /// The measured value, in the unit of the metric.
        public var value: Double
        /// The attributes, such as `http.request.method`.
        public var attributes: [Observing.Attribute]

        /// Creates a measurement.
        public init(_ instrument: Instrument, _ value: Double, _ attributes: [Observing.Attribute]) {
            self.instrument = instrument
            self.value = value
            self.attributes = attributes
        }
    }

    /// The rules for methods and templates.
    public var semantics = Observing.Semantics()

    private let sink: @Sendable (Measurement) -> Void

    /// Creates an observer that passes measurements to `sink`, which is called on the thread of the exchange.
    public init(_ sink: @escaping @Sendable (Measurement) -> Void) {
        self.sink = sink
    }

    /// Measures a request that begins, and returns the function that measures its end.
    public func begin(_ observation: inout Observing.Observation) -> Observing.Handler? {
        let attributes = semantics.metricAttributes(of: observation.request)
        sink(Measurement(.activeRequests, 1, attributes))
        return { [self] event in
            guard case .end(let report) = event else { return }
            sink(Measurement(.activeRequests, -1, attributes))
            let all = attributes + semantics.endAttributes(of: report)
            sink(Measurement(.requestDuration, report.duration / .seconds(1), all))
            if let count = report.requestBodyLength { sink(Measurement(.requestBodySize, Double(count), all)) }
            if let count = report.responseBodyLength { sink(Measurement(.responseBodySize, Double(count), all)) }
        }
    }

    /// Returns how many connections `executor` has open, as measurements of `http.client.open_connections`.
    ///
    /// Call it when your metrics are collected; this metric is not recorded at requests.
    ///
    /// - Parameter executor: The executor, with or without middleware.
    /// - Returns: Two measurements for each origin, of its used and its idle connections; none for an executor that
    ///   does not report its connections, such as URLSession.
    public static func connections(of executor: any RequestExecutor) -> [Measurement] {
        // A cast, because custom executors and URLSession do not count connections.
        guard let counts = (executor.lastExecutor as? any CountsConnections)?.connectionCounts else { return [] }
        return counts.flatMap { count in
            [("active", count.active), ("idle", count.idle)].map { state, number in
                var attributes = [
                    Observing.Attribute("http.connection.state", state),
                    Observing.Attribute("server.address", count.origin.address),
                ]
                if let port = count.origin.effectivePort { attributes.append(.init("server.port", port)) }
                attributes.append(.init("url.scheme", count.origin.scheme))
                return Measurement(.openConnections, Double(number), attributes)
            }
        }
    }
}

extension RequestMetrics {
    /// A metric: its name, its unit and its kind.
    public struct Instrument: Sendable, CustomStringConvertible {
        /// The kind of a metric.
        @nonexhaustive
        public enum Kind: Hashable, Sendable {
            /// A distribution of values, in buckets with the upper limits `boundaries` if they are not empty.
            case histogram(boundaries: [Double])
            /// A sum of values, some of which are negative.
            case upDownCounter
            /// A value at an instant.
            case gauge
        }

        /// The name, such as `http.client.request.duration`.
        public let name: String

        /// The unit, such as `s` or `By` (UCUM).
        public let unit: String

        /// The kind.
        public let kind: Kind

        /// The name.
        public var description: String { name }

        /// The durations of requests in seconds, with the buckets that the conventions recommend.
        public static let requestDuration = Instrument(
            name: "http.client.request.duration", unit: "s",
            kind: .histogram(
                boundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]))

        /// The sizes of request bodies in bytes.
        public static let requestBodySize = Instrument(
            name: "http.client.request.body.size", unit: "By", kind: .histogram(boundaries: []))

        /// The sizes of response bodies in bytes.
        public static let responseBodySize = Instrument(
            name: "http.client.response.body.size", unit: "By", kind: .histogram(boundaries: []))

        /// The number of running requests, as changes by 1 and −1.
        public static let activeRequests = Instrument(
            name: "http.client.active_requests", unit: "{request}", kind: .upDownCounter)

        /// The number of connections; see ``RequestMetrics/connections(of:)``.
        public static let openConnections = Instrument(
            name: "http.client.open_connections", unit: "{connection}", kind: .gauge)
    }
}
