/// The path of a request below its API's base URL: a literal whose interpolated values are percent-encoded.
///
/// What is written in the literal is trusted: valid `%XX` is kept, spaces and non-ASCII characters are encoded. What is
/// interpolated is data: every byte but letters, digits and `- . _ ~` is encoded, so that a value never leaves its
/// segment. `"/users/\(name)"` with `a/b` gives `/users/a%2Fb`.
///
/// A path that cannot be sent is reported when the request is prepared, as
/// ``RequestError/Reason/invalidRequest(_:)``: a `?` or `#` in the literal, a control byte, or a segment that an
/// interpolation leaves empty or turns into `.` or `..`.
public struct RequestPath: Hashable, Sendable {
    /// The path as it will be sent, percent-encoded.
    public let encoded: String

    /// The path with `{}` in the place of each interpolated value: for metrics, mocks and logs.
    public internal(set) var template: String

    /// What is wrong with the path, if anything is.
    let problem: InvalidRequest?

    /// A path that is known only at run time, treated like a literal: what it holds is trusted.
    public init(_ text: some StringProtocol) {
        encoded = PercentEncoding.path.encodeKeepingEscapes(text)
        template = String(text)
        problem = Self.problem(inLiteral: text)
    }

    private init(encoded: String, template: String, problem: InvalidRequest?) {
        self.encoded = encoded
        self.template = template
        self.problem = problem
    }

    /// The empty path: the base URL itself.
    public static let empty = RequestPath("")

    fileprivate static func problem(inLiteral text: some StringProtocol) -> InvalidRequest? {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "?"): return .queryInPath
            case UInt8(ascii: "#"): return .fragmentInPath
            case 0..<0x20, 0x7F: return .controlByteInPath
            default: continue
            }
        }
        return nil
    }
}

extension RequestPath: ExpressibleByStringInterpolation {
    /// A path of trusted text.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// A path of trusted text and interpolated values.
    public init(stringInterpolation: StringInterpolation) {
        var interpolation = stringInterpolation
        interpolation.endSegment()
        self.init(
            encoded: interpolation.encoded, template: interpolation.template, problem: interpolation.problem)
    }

    /// Collects the pieces of an interpolated path.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var encoded = ""
        fileprivate var template = ""
        fileprivate var problem: InvalidRequest?
        private var segmentStart: String.Index
        private var isInterpolated = false

        /// Makes room for the pieces.
        public init(literalCapacity: Int, interpolationCount: Int) {
            encoded.reserveCapacity(literalCapacity + interpolationCount * 12)
            segmentStart = encoded.startIndex
        }

        /// Appends trusted text.
        public mutating func appendLiteral(_ literal: String) {
            template += literal
            appendTrusted(literal)
        }

        /// Appends `value` as part of one segment, percent-encoded.
        public mutating func appendInterpolation(_ value: some PathValue) {
            appendValue(PercentEncoding.rfc3986.encode(value.pathText))
        }

        /// Appends the raw value of `value` as part of one segment, percent-encoded.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: PathValue {
            appendValue(PercentEncoding.rfc3986.encode(value.rawValue.pathText))
        }

        /// Appends a value that is a `PathValue` and has a raw value: its own path text wins.
        public mutating func appendInterpolation<Value: RawRepresentable & PathValue>(_ value: Value)
        where Value.RawValue: PathValue {
            appendValue(PercentEncoding.rfc3986.encode(value.pathText))
        }

        /// Appends text that is trusted like the literal: slashes separate segments, valid `%XX` is kept.
        public mutating func appendInterpolation(raw text: some StringProtocol) {
            template += "{}"
            appendTrusted(text)
        }

        private mutating func appendTrusted(_ text: some StringProtocol) {
            problem = problem ?? RequestPath.problem(inLiteral: text)
            var rest = Substring(text)
            while let slash = rest.utf8.firstIndex(of: UInt8(ascii: "/")) {
                encoded += PercentEncoding.path.encodeKeepingEscapes(rest[..<slash])
                endSegment()
                encoded += "/"
                beginSegment()
                rest = rest[rest.utf8.index(after: slash)...]
            }
            encoded += PercentEncoding.path.encodeKeepingEscapes(rest)
        }

        private mutating func appendValue(_ text: String) {
            encoded += text
            template += "{}"
            isInterpolated = true
        }

        private mutating func beginSegment() {
            segmentStart = encoded.endIndex
            isInterpolated = false
        }

        /// Notes a segment that an interpolation left empty or turned into one that climbs.
        fileprivate mutating func endSegment() {
            guard isInterpolated else { return }
            switch encoded[segmentStart...].replacing("%2e", with: ".").replacing("%2E", with: ".") {
            case "": problem = problem ?? .emptySegment
            case ".", "..": problem = problem ?? .dotSegment
            default: break
            }
        }
    }
}

extension RequestPath: CustomStringConvertible {
    /// The path as it will be sent.
    public var description: String { encoded }
}
