// The signatures of swift-distributed-tracing and swift-service-context that the adaptors use.

package struct ServiceContext: Sendable {
    package var id: Int

    package init(id: Int) { self.id = id }

    package static var topLevel: ServiceContext { ServiceContext(id: 0) }

    @TaskLocal package static var current: ServiceContext?
}

package protocol Injector: Sendable {
    associatedtype Carrier

    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

package enum SpanKind: Sendable {
    case server, client, producer, consumer, `internal`
}

package struct SpanStatus: Sendable {
    package enum Code: Sendable {
        case ok, error
    }

    package let code: Code
    package let message: String?

    package init(code: Code, message: String? = nil) { (self.code, self.message) = (code, message) }
}

package enum SpanAttribute: Sendable {
    case int64(Int64)
    case string(String)
}

package struct SpanAttributes: Sendable {
    package private(set) var values: [String: SpanAttribute] = [:]

    package init() {}

    package subscript(_ name: String) -> SpanAttribute? {
        get { values[name] }
        set { values[name] = newValue }
    }
}

package protocol Span: Sendable {
    var context: ServiceContext { get }

    var attributes: SpanAttributes { get nonmutating set }

    func setStatus(_ status: SpanStatus)

    func end()
}

package protocol Instrument: Sendable {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Carrier == Inject.Carrier
}

package protocol Tracer: Instrument {
    associatedtype SpanType: Span

    func startSpan(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind, function: String,
        file fileID: String, line: UInt
    ) -> SpanType
}

extension Tracer {
    package func startSpan(
        _ operationName: String, context: @autoclosure () -> ServiceContext = .current ?? .topLevel,
        ofKind kind: SpanKind = .internal, function: String = #function, file fileID: String = #fileID,
        line: UInt = #line
    ) -> SpanType {
        startSpan(operationName, context: context(), ofKind: kind, function: function, file: fileID, line: line)
    }
}
