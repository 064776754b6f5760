import Synchronization

// The signatures of swift-distributed-tracing and swift-service-context that the adaptors use.

package protocol ServiceContextKey: Sendable {
    associatedtype Value: Sendable
}

package struct ServiceContext: Sendable {
    private var values: [ObjectIdentifier: any Sendable] = [:]

    package static var topLevel: ServiceContext { ServiceContext() }

    @TaskLocal package static var current: ServiceContext?

    package subscript<Key: ServiceContextKey>(_ key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)] as? Key.Value }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}

package protocol Injector: Sendable {
    associatedtype Carrier

    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

package protocol Instrument: Sendable {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Carrier == Inject.Carrier
}

package protocol TracerInstant: Comparable, Hashable, Sendable {
    var nanosecondsSinceEpoch: UInt64 { get }
}

package struct DefaultTracerClock {
    package struct Timestamp: TracerInstant {
        package let nanosecondsSinceEpoch: UInt64

        package static func < (left: Self, right: Self) -> Bool {
            left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
        }
    }

    package static var now: Timestamp { Timestamp(nanosecondsSinceEpoch: 0) }
}

package enum SpanKind: Hashable, Sendable {
    case server, client, producer, consumer, `internal`
}

package struct SpanStatus: Equatable, Sendable {
    package enum Code: Sendable {
        case ok, error
    }

    package let code: Code
    package let message: String?

    package init(code: Code, message: String? = nil) { (self.code, self.message) = (code, message) }
}

package protocol SpanAttributeConvertible {
    func toSpanAttribute() -> SpanAttribute
}

package enum SpanAttribute: Equatable, Sendable, SpanAttributeConvertible {
    case int32(Int32)
    case int64(Int64)
    case double(Double)
    case bool(Bool)
    case string(String)

    package func toSpanAttribute() -> SpanAttribute { self }
}

package struct SpanAttributes: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    private var values: [String: SpanAttribute] = [:]

    package init(_ attributes: [String: SpanAttribute]) { values = attributes }

    package init(dictionaryLiteral elements: (String, SpanAttribute)...) {
        values = Dictionary(uniqueKeysWithValues: elements)
    }

    package subscript(_ name: String) -> (any SpanAttributeConvertible)? {
        get { values[name] }
        set { values[name] = newValue?.toSpanAttribute() }
    }

    package func get(_ name: String) -> SpanAttribute? { values[name] }

    package mutating func set(_ name: String, value: SpanAttribute?) { values[name] = value }
}

package protocol Span: Sendable {
    var context: ServiceContext { get }

    var operationName: String { get nonmutating set }

    var attributes: SpanAttributes { get nonmutating set }

    var isRecording: Bool { get }

    func setStatus(_ status: SpanStatus)

    func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant)

    func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant)
}

extension Span {
    package func recordError(_ error: any Error) { recordError(error, attributes: [:], at: DefaultTracerClock.now) }

    package func end() { end(at: DefaultTracerClock.now) }
}

package protocol Tracer: Instrument {
    associatedtype Span: PackageStandIns.Span

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> Self.Span
}

extension Tracer {
    package func startSpan(
        _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
        ofKind kind: SpanKind = .internal, at instant: @autoclosure () -> some TracerInstant = DefaultTracerClock.now,
        function: String = #function, file fileID: String = #fileID, line: UInt = #line
    ) -> Self.Span {
        startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
    }
}
