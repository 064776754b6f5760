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
    private(set) var problem: InvalidRequest?

    /// Whether the text is a URI reference, resolved against the base URL instead of put below it.
    private(set) var isReference = false

    /// A path that is known only at run time, treated like a literal: what it holds is trusted.
    public init(_ text: some StringProtocol) {
        let text = String(text)
        encoded = PercentEncoding.path.encodeKeepingEscapes(text)
        template = text
        problem = Self.problem(inLiteral: text)
    }

    private init(encoded: String, template: String, problem: InvalidRequest?) {
        self.encoded = encoded
        self.template = template
        self.problem = problem
    }

    /// The empty path: the base URL itself.
    public static let empty = RequestPath("")

    /// A URI reference (RFC 3986 §4.1), resolved against the base URL: `/x` leaves the base path, `?q` asks the base, an
    /// absolute URL leads elsewhere.
    public static func reference(_ text: String) -> RequestPath {
        let isClean = !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
        var path = RequestPath(encoded: text, template: text, problem: isClean ? nil : .controlByteInPath)
        path.isReference = true
        return path
    }

    /// This path as a URI reference; a query that stands in a literal is one then.
    var asReference: RequestPath {
        if isReference { return self }
        if problem == .queryInPath || problem == .fragmentInPath, !template.contains("{}") {
            return .reference(template)
        }
        var copy = self
        copy.isReference = true
        return copy
    }

    /// The path of both, one slash put between them where there is none.
    func appending(_ other: RequestPath) -> RequestPath {
        if other.isReference || encoded.isEmpty { return other }
        if other.encoded.isEmpty { return self }
        let hasSlash = encoded.utf8.last == UInt8(ascii: "/")
        let isRooted = other.encoded.utf8.first == UInt8(ascii: "/")
        func joined(_ left: String, _ right: String) -> String {
            switch (hasSlash, isRooted) {
            case (true, true): left + right.dropFirst()
            case (false, false): "\(left)/\(right)"
            default: left + right
            }
        }
        var path = RequestPath(
            encoded: joined(encoded, other.encoded), template: joined(template, other.template),
            problem: problem ?? other.problem)
        path.isReference = isReference
        return path
    }

    /// This path, which was made of the encoded text of `original`, with the template and the problem of that.
    ///
    /// A prefix that was put before the text stays, in the template too.
    func restoring(_ original: RequestPath) -> RequestPath {
        if encoded == original.encoded { return original }
        var copy = self
        copy.problem = problem ?? original.problem
        if !original.encoded.isEmpty, template.hasSuffix(original.encoded) {
            copy.template = template.dropLast(original.encoded.count) + original.template
        }
        return copy
    }

    fileprivate static func problem(inLiteral text: String) -> InvalidRequest? {
        var text = text
        return text.withUTF8 { bytes in
            switch bytes.first(where: { $0 < 0x20 || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == 0x7F })
            {
            case nil: nil
            case UInt8(ascii: "?"): .queryInPath
            case UInt8(ascii: "#"): .fragmentInPath
            default: .controlByteInPath
            }
        }
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
            encoded: String(decoding: interpolation.encoded, as: UTF8.self), template: interpolation.template,
            problem: interpolation.problem)
    }

    /// Collects the pieces of an interpolated path.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var encoded: [UInt8] = []
        private var templateBytes: [UInt8] = []
        fileprivate var problem: InvalidRequest?
        private var segmentStart = 0
        private var isInterpolated = false

        /// Makes room for the pieces.
        public init(literalCapacity: Int, interpolationCount: Int) {
            encoded.reserveCapacity(literalCapacity + interpolationCount * 12)
            templateBytes.reserveCapacity(literalCapacity + interpolationCount * 2)
        }

        fileprivate var template: String { String(decoding: templateBytes, as: UTF8.self) }

        /// Appends trusted text.
        public mutating func appendLiteral(_ literal: String) {
            templateBytes.append(contentsOf: literal.utf8)
            appendTrusted(literal)
        }

        /// Appends `value` as part of one segment, percent-encoded.
        public mutating func appendInterpolation(_ value: some PathValue) {
            appendValue(value.pathText)
        }

        /// Appends the raw value of `value` as part of one segment, percent-encoded.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: PathValue {
            appendValue(value.rawValue.pathText)
        }

        /// Appends a value that is a `PathValue` and has a raw value: its own path text wins.
        public mutating func appendInterpolation<Value: RawRepresentable & PathValue>(_ value: Value)
        where Value.RawValue: PathValue {
            appendValue(value.pathText)
        }

        /// Appends text that is trusted like the literal: slashes separate segments, valid `%XX` is kept.
        public mutating func appendInterpolation(raw text: some StringProtocol) {
            templateBytes.append(contentsOf: "{}".utf8)
            appendTrusted(String(text))
        }

        private mutating func appendTrusted(_ text: String) {
            problem = problem ?? RequestPath.problem(inLiteral: text)
            let start = encoded.count
            PercentEncoding.path.append(text, keepingEscapes: true, to: &encoded)
            guard let first = encoded[start...].firstIndex(of: UInt8(ascii: "/")) else { return }
            endSegment(at: first)
            segmentStart = (encoded.lastIndex(of: UInt8(ascii: "/")) ?? first) + 1
            isInterpolated = false
        }

        private mutating func appendValue(_ text: String) {
            PercentEncoding.rfc3986.append(text, to: &encoded)
            templateBytes.append(contentsOf: "{}".utf8)
            isInterpolated = true
        }

        fileprivate mutating func endSegment() {
            endSegment(at: encoded.count)
        }

        /// Notes a segment that an interpolation left empty or turned into one that climbs.
        private mutating func endSegment(at end: Int) {
            guard isInterpolated, problem == nil else { return }
            let length = end - segmentStart
            if length == 0 { problem = .emptySegment }
            guard length > 0, length <= 6 else { return }
            let segment = PercentEncoding.decode(String(decoding: encoded[segmentStart..<end], as: UTF8.self))
            if segment == "." || segment == ".." { problem = .dotSegment }
        }
    }
}

extension RequestPath: CustomStringConvertible {
    /// The path as it will be sent.
    public var description: String { encoded }
}
