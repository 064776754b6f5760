import Requests

/// An observer that creates spans with the names of OpenTelemetry's semantic conventions, and propagates their context
/// with W3C Trace Context and Baggage.
///
/// ```swift
/// let tracing = RequestTracing { span in exporter.add(span) }
/// let executor = SocketExecutor()
///     .observing(.attempts, by: tracing)
///     .retrying()
///     .observing(.calls, by: tracing)
/// ```
///
/// With both seats, each request of a call has an internal span, and each attempt has a client span that is its child.
/// With `.attempts` alone, the client spans are children of the current span. The parent is ``TraceContext/current``,
/// or else the context in the request's own traceparent field; without either, a new trace begins.
///
/// The fields traceparent and tracestate of the innermost span are sent. Baggage is sent unless the call has left the
/// origin of its first request, or the request has its own.
public struct RequestTracing: Observing.Observer {
    /// A span, as it begins or as it has ended; a ``Recorder`` receives both.
    public struct Span: Sendable {
        /// The kind of a span.
        @nonexhaustive
        public enum Kind: Hashable, Sendable {
            /// A request of a call, with all its attempts.
            case `internal`
            /// A request that is sent.
            case client
        }

        /// The span's name, such as `GET /users/{}`.
        public var name: String

        /// The kind.
        public let kind: Kind

        /// The identity that is propagated; a recorder with its own identities sets it when the span begins.
        public var context: TraceContext

        /// The identity of the parent; nil for the first span of a trace.
        public let parent: TraceContext?

        /// The attributes; when the span ends, they include the response's attributes.
        public var attributes: [Observing.Attribute]

        /// The fields to send instead of traceparent and tracestate; nil to send ``context`` in those.
        ///
        /// A recorder that propagates its context in another format sets them when the span begins.
        public var propagation: Header?

        /// The date at which the span began.
        public var start: Date

        /// The date at which the span ended; nil at the beginning.
        ///
        /// It is the start plus the duration, so that a change of the clock does not matter.
        public var end: Date?

        /// Whether the span ended with an error or a status of 400 or higher.
        public var hasFailed = false

        /// The report; nil at the beginning.
        public var report: Observing.Report?

        /// Creates a span that begins, as for a test of a recorder.
        public init(
            _ name: String, kind: Kind = .client, context: TraceContext, parent: TraceContext? = nil,
            attributes: [Observing.Attribute] = [], start: Date
        ) {
            self.name = name
            self.kind = kind
            self.context = context
            self.parent = parent
            self.attributes = attributes
            self.start = start
        }
    }

    /// A type that records spans.
    public protocol Recorder: Sendable {
        /// Receives the beginning of a span, and returns the function that receives its end.
        ///
        /// It is called for every span, whether or not its context is sampled, because a tracer samples by its own
        /// rules.
        ///
        /// - Parameter span: The span, whose context and propagation the recorder can change.
        /// - Returns: The function, or nil if the span is not recorded.
        func begin(_ span: inout Span) -> (@Sendable (Span) -> Void)?
    }

    /// The rules for attributes.
    public var semantics = Observing.Semantics()

    /// A function that decides whether a new trace is recorded; by default it always returns true.
    ///
    /// A trace that has begun elsewhere is recorded if it is sampled. A ``Recorder`` receives every span and decides
    /// itself.
    public var samples: @Sendable (PreparedRequest) -> Bool = { _ in true }

    /// A function that decides whether a server receives the fields of the context and the baggage; by default it
    /// always returns true.
    public var propagates: @Sendable (TargetURI) -> Bool = { _ in true }

    private let recorder: any Recorder
    private let clock: Retrying.Clock
    private let random: @Sendable () -> UInt64

    /// Creates an observer that passes spans to `recorder`.
    ///
    /// - Parameters:
    ///   - recorder: The recorder of spans.
    ///   - clock: The source of dates.
    ///   - random: The source of IDs, a function that returns random numbers.
    public init(
        recorder: any Recorder, clock: Retrying.Clock = .system,
        random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    ) {
        self.recorder = recorder
        self.clock = clock
        self.random = random
    }

    /// Creates an observer that passes each sampled span to `record` when it has ended.
    ///
    /// - Parameters:
    ///   - clock: The source of dates.
    ///   - random: The source of IDs, a function that returns random numbers.
    ///   - record: A function that records a span; it is called on the thread of the exchange.
    public init(
        clock: Retrying.Clock = .system,
        random: @escaping @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) },
        _ record: @escaping @Sendable (Span) -> Void
    ) {
        self.init(recorder: EndRecorder(record: record), clock: clock, random: random)
    }

    private struct EndRecorder: Recorder {
        let record: @Sendable (Span) -> Void

        func begin(_ span: inout Span) -> (@Sendable (Span) -> Void)? { span.context.isSampled ? record : nil }
    }

    /// Begins a span, and returns the function that ends it.
    public func begin(_ observation: inout Observing.Observation) -> Observing.Handler? {
        let request = observation.request
        let parent = observation.context ?? TraceContext.current ?? TraceContext(request.header)
        let context =
            parent?.child(random: random) ?? TraceContext(isSampled: samples(request), random: random)
        var span = Span(
            semantics.spanName(of: request), kind: observation.seat == .calls ? .internal : .client,
            context: context, parent: parent, start: clock.date())
        span.attributes = semantics.spanAttributes(of: request, resendCount: observation.resendCount)
        let record = recorder.begin(&span)
        propagate(span, &observation)
        guard let record else { return nil }
        return { [span, semantics] event in
            guard case .end(let report) = event else { return }
            var ended = span
            ended.end = span.start + report.duration / .seconds(1)
            ended.hasFailed = report.errorType != nil
            ended.attributes += semantics.endAttributes(of: report)
            ended.report = report
            record(ended)
        }
    }

    private func propagate(_ span: Span, _ observation: inout Observing.Observation) {
        observation.context = span.context
        let request = observation.request
        guard propagates(request.target) else { return }
        if let fields = span.propagation {
            for field in fields { observation.fields.set(field) }
        } else {
            observation.fields.set(Field(name: .traceparent, value: span.context.traceparent))
            // An entry of another parent would be wrong.
            if request.header.contains(.tracestate) { observation.removedFields.append(.tracestate) }
            let state = span.context.state.fieldValue
            if !state.isEmpty { observation.fields.set(Field(name: .tracestate, value: state)) }
        }
        guard !request.hasLeftOrigin, !request.header.contains(.baggage),
            let baggage = TraceContext.Baggage.current.fieldValue
        else { return }
        observation.fields.set(Field(name: .baggage, value: baggage))
    }
}
