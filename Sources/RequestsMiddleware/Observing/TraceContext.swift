import Requests

/// The identity of a span, as W3C Trace Context propagates it from one service to the next.
///
/// ```swift
/// // In a server, for the requests that it sends while it handles one:
/// let context = TraceContext(receivedHeader)
/// let baggage = TraceContext.Baggage(receivedHeader)
/// try await TraceContext.withCurrent(context, baggage: baggage) {
///     try await github.perform(Users.me)
/// }
/// ```
///
/// Reading is strict: a traceparent that is malformed, repeated or has an ID of zeros is ignored, and a tracestate that
/// is malformed is ignored alone.
public struct TraceContext: Hashable, Sendable {
    /// The ID of the trace; not zero.
    public var traceID: TraceID

    /// The ID of the span; not 0.
    public var spanID: SpanID

    /// The flags.
    public var flags: Flags

    /// The entries of tracing systems.
    public var state: State

    /// Creates a context; nil if an ID is zero.
    ///
    /// - Parameters:
    ///   - traceID: The ID of the trace.
    ///   - spanID: The ID of the span.
    ///   - flags: The flags.
    ///   - state: The entries of tracing systems.
    public init?(traceID: TraceID, spanID: SpanID, flags: Flags = [], state: State = State()) {
        guard traceID.high | traceID.low != 0, spanID.value != 0 else { return nil }
        self.init(unchecked: traceID, spanID, flags, state)
    }

    private init(unchecked traceID: TraceID, _ spanID: SpanID, _ flags: Flags, _ state: State) {
        self.traceID = traceID
        self.spanID = spanID
        self.flags = flags
        self.state = state
    }

    /// Creates the context of a new trace; its IDs consist of numbers that `random` returns.
    init(isSampled: Bool, random: () -> UInt64) {
        let (high, low) = (random(), Self.nonzero(random))
        self.init(
            unchecked: TraceID(high: high, low: low), SpanID(value: Self.nonzero(random)),
            isSampled ? [.sampled, .random] : .random, State())
    }

    /// Returns the context of a child span, in the same trace and with the same flags and state.
    func child(random: () -> UInt64) -> TraceContext {
        TraceContext(unchecked: traceID, SpanID(value: Self.nonzero(random)), flags, state)
    }

    /// Returns a number other than 0, even if `random` returns only zeros.
    private static func nonzero(_ random: () -> UInt64) -> UInt64 {
        let number = random()
        return number == 0 ? 1 : number
    }

    /// Whether the span is recorded.
    public var isSampled: Bool { flags.contains(.sampled) }

    /// The context of the span in which the present task runs; nil outside of all spans.
    @TaskLocal public static var current: TraceContext?

    /// Performs `operation` with a current context and baggage, for the requests that it sends.
    ///
    /// - Parameters:
    ///   - context: The context; nil for none, as outside of all spans.
    ///   - baggage: The baggage.
    ///   - operation: The operation.
    /// - Returns: The result of `operation`.
    /// - Throws: The error of `operation`.
    public static func withCurrent<Result>(
        _ context: TraceContext?, baggage: Baggage = Baggage(), _ operation: () async throws -> Result
    ) async rethrows -> Result {
        try await $current.withValue(context) {
            try await Baggage.$current.withValue(baggage) { try await operation() }
        }
    }
}

// MARK: IDs

extension TraceContext {
    /// The ID of a trace, 16 bytes.
    public struct TraceID: Hashable, Sendable, CustomStringConvertible {
        /// The first eight bytes.
        public var high: UInt64
        /// The last eight bytes.
        public var low: UInt64

        /// Creates an ID.
        public init(high: UInt64, low: UInt64) {
            self.high = high
            self.low = low
        }

        /// 32 hexadecimal digits in lower case.
        public var description: String { TraceContext.hexadecimal(high) + TraceContext.hexadecimal(low) }
    }

    /// The ID of a span, eight bytes.
    public struct SpanID: Hashable, Sendable, CustomStringConvertible {
        /// The bytes.
        public var value: UInt64

        /// Creates an ID.
        public init(value: UInt64) {
            self.value = value
        }

        /// 16 hexadecimal digits in lower case.
        public var description: String { TraceContext.hexadecimal(value) }
    }

    /// The flags of a span.
    public struct Flags: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt8

        /// Creates flags from their bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// The caller may have recorded the span.
        public static let sampled = Flags(rawValue: 1)

        /// The last seven bytes of the trace ID are random (Trace Context Level 2).
        public static let random = Flags(rawValue: 2)
    }

    fileprivate static func hexadecimal(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}

// MARK: Fields

extension Field.Name {
    static var traceparent: Self { "traceparent" }
    static var tracestate: Self { "tracestate" }
    static var baggage: Self { "baggage" }

    /// Whether the field is the context of a span, which differs in requests that are otherwise identical.
    var isTraceContext: Bool { self == .traceparent || self == .tracestate }
}

extension TraceContext {
    /// Creates the context that `header` contains; nil if it contains no valid one.
    ///
    /// The fields are traceparent, which must occur once, and tracestate (W3C Trace Context §3).
    public init?(_ header: Header) {
        let parents = header.values(of: .traceparent)
        guard parents.count == 1 else { return nil }
        self.init(traceparent: parents[0], State(parsing: header.values(of: .tracestate)) ?? State())
    }

    /// Creates the context from the value of a traceparent field; nil if it is invalid.
    ///
    /// A version after 00 is read like 00; its additional text is ignored, and so are unknown flags.
    ///
    /// - Parameters:
    ///   - traceparent: The value, such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
    ///   - state: The entries of tracing systems.
    public init?(traceparent: String, _ state: State = State()) {
        let text = traceparent.utf8[...].trimmingBlanks
        // The four parts have fixed places; no later version can change those (§3.2.4).
        guard let bytes = Optional(Array(text.prefix(56))), bytes.count >= 55,
            [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }), let version = Self.number(bytes[0..<2]),
            version != 0xFF, version == 0 ? bytes.count == 55 : bytes.count == 55 || bytes[55] == UInt8(ascii: "-"),
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let span = Self.number(bytes[36..<52]), let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.init(
            traceID: TraceID(high: high, low: low), spanID: SpanID(value: span),
            flags: Flags(rawValue: UInt8(flags) & 3), state: state)
    }

    /// The value of the traceparent field, in version 00.
    public var traceparent: String {
        let flags = String(flags.rawValue & 3, radix: 16)
        return "00-\(traceID)-\(spanID)-0\(flags)"
    }

    /// Returns the number that hexadecimal digits in lower case, at most 16, represent; nil for other text.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for byte in digits {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(byte & 0x0F)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}
