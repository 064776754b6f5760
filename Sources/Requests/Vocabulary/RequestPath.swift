/// The path of a request below its API's base URL: a literal whose interpolated values are percent-encoded.
///
/// What is written in the literal is trusted: valid `%XX` is kept, spaces and non-ASCII characters are encoded. What is
/// interpolated is data: every byte but letters, digits and `- . _ ~` is encoded, so that a value never leaves its
/// segment. `"/users/\(name)"` with `a/b` gives `/users/a%2Fb`.
///
/// A path that cannot be sent is reported when the request is prepared, as
/// ``RequestError/Reason/invalidRequest(_:)``: a `?` or `#` in the literal, a control byte, or a segment that an
/// interpolation leaves empty or turns into `.` or `..`.
public struct RequestPath: Sendable {
    private(set) var shape: PathTemplate

    /// What is wrong with the path, if anything is.
    private(set) var problem: InvalidRequest?

    /// Whether the text is a URI reference, resolved against the base URL instead of put below it.
    private(set) var isReference = false

    /// The path as it will be sent, percent-encoded.
    public var encoded: String { shape.path }

    /// The path with `{}` in the place of each interpolated value: for metrics, mocks and logs.
    public var template: String { shape.text }

    /// A path that is known only at run time, treated like a literal: what it holds is trusted.
    @inlinable
    public init(_ text: some StringProtocol) {
        self.init(trusted: String(text))
    }

    @usableFromInline
    init(trusted text: String) {
        let encoded = PercentEncoding.path.encodeKeepingEscapes(text)
        let isChanged = encoded.utf8.count != text.utf8.count
        shape = PathTemplate(path: encoded, text: isChanged ? text : nil)
        // What has been written as it was holds nothing that is wrong.
        var text = text
        problem = isChanged ? text.withUTF8(Self.problem) : nil
    }

    private init(encoded: String, template: String, problem: InvalidRequest?) {
        shape = PathTemplate(path: encoded, text: template)
        self.problem = problem
    }

    /// The empty path: the base URL itself.
    public static var empty: RequestPath { RequestPath(trusted: "") }

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
        if problem == .queryInPath || problem == .fragmentInPath, !template.utf8.contains("{}".utf8) {
            return .reference(template)
        }
        var copy = self
        copy.isReference = true
        return copy
    }

    /// The path of both, one slash put between them where there is none.
    func appending(_ other: RequestPath) -> RequestPath {
        let (encoded, template) = (encoded, template)
        if other.isReference || encoded.isEmpty { return other }
        if other.encoded.isEmpty { return self }
        let hasSlash = encoded.utf8.last == UInt8(ascii: "/")
        let isRooted = other.encoded.utf8.first == UInt8(ascii: "/")
        func joined(_ left: String, _ right: String) -> String {
            switch (hasSlash, isRooted) {
            case (true, true): left + right.droppingFirstBytes(1)
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

    /// Takes over the template and the problem of `original`, of whose encoded text this path was made.
    ///
    /// A prefix that was put before the text stays, in the template too.
    @usableFromInline
    mutating func restore(_ original: RequestPath) {
        if encoded.hasSameBytes(as: original.encoded) {
            self = original
            return
        }
        problem = problem ?? original.problem
        let template = self.template
        if !original.encoded.isEmpty, template.hasByteSuffix(original.encoded) {
            let prefix = template.droppingLastBytes(original.encoded.utf8.count)
            shape = PathTemplate(path: encoded, text: prefix + original.template)
        }
    }

    /// What is wrong with a literal of `bytes`, if anything is.
    static func problem(inLiteral bytes: UnsafeBufferPointer<UInt8>) -> InvalidRequest? {
        switch bytes.first(where: { $0 < 0x20 || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == 0x7F }) {
        case nil: nil
        case UInt8(ascii: "?"): .queryInPath
        case UInt8(ascii: "#"): .fragmentInPath
        default: .controlByteInPath
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
        var writer = stringInterpolation.writer
        writer.finish()
        shape = PathTemplate(writer)
        problem = writer.problem
    }

    /// Collects the pieces of an interpolated path.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var writer = PathWriter()

        /// Makes room for the pieces.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Appends trusted text.
        public mutating func appendLiteral(_ literal: String) {
            writer.write(literal: literal)
        }

        /// Appends `value` as part of one segment, percent-encoded.
        @inlinable
        public mutating func appendInterpolation(_ value: some PathValue) {
            append(value: value.pathText)
        }

        /// Appends the raw value of `value` as part of one segment, percent-encoded.
        @inlinable
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: PathValue {
            append(value: value.rawValue.pathText)
        }

        /// Appends a value that is a `PathValue` and has a raw value: its own path text wins.
        @inlinable
        public mutating func appendInterpolation<Value: RawRepresentable & PathValue>(_ value: Value)
        where Value.RawValue: PathValue {
            append(value: value.pathText)
        }

        /// Appends text that is trusted like the literal: slashes separate segments, valid `%XX` is kept.
        public mutating func appendInterpolation(raw text: some StringProtocol) {
            writer.write(raw: String(text))
        }

        @usableFromInline
        mutating func append(value text: String) {
            writer.write(value: text)
        }
    }
}

extension RequestPath: Hashable {
    /// Whether both are sent alike and have the same template.
    public static func == (left: Self, right: Self) -> Bool {
        left.shape == right.shape && left.problem == right.problem && left.isReference == right.isReference
    }

    /// Hashes the path as it will be sent.
    public func hash(into hasher: inout Hasher) { hasher.combine(encoded) }
}

extension RequestPath: CustomStringConvertible {
    /// The path as it will be sent.
    public var description: String { encoded }
}
