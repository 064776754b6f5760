/// The path of a request below the base URL of its API: a literal whose interpolated values are percent-encoded.
///
/// The text of the literal is trusted: valid `%XX` is kept, spaces and non-ASCII characters are encoded. Interpolated
/// values are data: every byte except letters, digits and `- . _ ~` is encoded, so that a value never leaves its
/// segment. `"/users/\(name)"` with `a/b` becomes `/users/a%2Fb`. For a value of several segments, such as the key of
/// an object, write `"/files/\(segments: key)"`.
///
/// If the path cannot be sent, preparing the request throws ``RequestError/Reason/invalidRequest(_:)``. This applies to
/// a `?` or `#` in the literal, a control character, and a segment that an interpolation makes empty, `.` or `..`.
public struct RequestPath: Sendable {
    /// The encoded path and its template.
    private(set) var shape: PathTemplate

    /// The error of the path, or nil if it can be sent.
    private(set) var problem: PathProblem?

    /// Whether the path is a URI reference, which is resolved against the base URL instead of appended to it.
    private(set) var isReference = false

    /// The path as it is sent, percent-encoded.
    public var encoded: String { shape.path }

    /// The path with `{}` in place of each interpolated value, for metrics, mocks and logs.
    public var template: String { shape.text }

    /// Creates a path from text known only at run time, which is trusted like a literal.
    public init(_ text: some StringProtocol) {
        self.init(trusted: String(text))
    }

    init(trusted text: String) {
        let encoded = PercentEncoding.path.encodeKeepingEscapes(text)
        let isChanged = encoded.utf8.count != text.utf8.count
        shape = PathTemplate(path: encoded, text: isChanged ? text : nil)
        // Every byte that is not allowed in a literal is encoded, so unchanged text has no error.
        var text = text
        problem = isChanged ? text.withUTF8(Self.problem).map { PathProblem($0) } : nil
    }

    private init(encoded: String, template: String, problem: PathProblem?) {
        shape = PathTemplate(path: encoded, text: template)
        self.problem = problem
    }

    /// The empty path, which requests the base URL itself.
    public static var empty: RequestPath { RequestPath(trusted: "") }

    /// Returns a path that is a URI reference, resolved against the base URL (RFC 3986 §4.1).
    ///
    /// `/x` replaces the path of the base URL, `?q` replaces its query, and an absolute URL replaces it.
    ///
    /// - Parameter text: The reference. If it contains a control character, preparing the request throws an error.
    /// - Returns: The path.
    public static func reference(_ text: String) -> RequestPath {
        let isClean = !text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
        var path = RequestPath(
            encoded: text, template: text, problem: isClean ? nil : PathProblem(.controlCharacterInPath))
        path.isReference = true
        return path
    }

    /// This path as a URI reference, in which a `?` or `#` of the literal begins a query or fragment.
    var asReference: RequestPath {
        if isReference { return self }
        if problem?.reason == .queryInPath || problem?.reason == .fragmentInPath, !template.utf8.contains("{}".utf8) {
            return .reference(template)
        }
        var copy = self
        copy.isReference = true
        return copy
    }

    /// Returns this path followed by `other`, with one slash between them.
    ///
    /// Use it to put a prefix before every path of an API. It keeps what the text of a path does not show: the
    /// template, the error, and whether the path is a URI reference.
    ///
    /// - Parameter other: The path to append. A URI reference replaces this path, and an empty path changes nothing.
    /// - Returns: The combined path. If this path is a reference, `other` is inserted before its query and fragment; a
    ///   reference without a path fails with ``RequestError/InvalidRequest/changedReference`` when the request is
    ///   prepared.
    public func appending(_ other: RequestPath) -> RequestPath {
        if other.isReference || encoded.isEmpty { return other }
        if other.encoded.isEmpty { return self }
        guard !isReference else { return appendingToReference(other) }
        return RequestPath(
            encoded: Self.joined(encoded, other.encoded), template: Self.joined(template, other.template),
            problem: problem ?? other.problem)
    }

    private func appendingToReference(_ other: RequestPath) -> RequestPath {
        let end = encoded.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? encoded.endIndex
        let text = Self.joined(String(encoded[..<end]), other.encoded) + encoded[end...]
        // A reference without a path refers to the path of the base URL, which the text cannot express.
        let isPathless = end == encoded.startIndex
        var path = RequestPath(
            encoded: text, template: text,
            problem: problem ?? other.problem ?? (isPathless ? PathProblem(.changedReference) : nil))
        path.isReference = true
        return path
    }

    /// Returns two texts with one slash between them.
    private static func joined(_ left: String, _ right: String) -> String {
        switch (left.utf8.last == UInt8(ascii: "/"), right.utf8.first == UInt8(ascii: "/")) {
        case (true, true): left + right.droppingFirstBytes(1)
        case (false, false): "\(left)/\(right)"
        default: left + right
        }
    }

    /// Restores `original`, whose encoded text was passed to the function that created this path.
    ///
    /// Text that was passed on unchanged is `original` again. A prefix added before the text is kept, in the template
    /// too. A reference cannot be changed as text, because only the text of a path can have a prefix.
    mutating func restore(_ original: RequestPath) {
        // Nearly every request returns here.
        if !isReference, !original.isReference, encoded.hasSameBytes(as: original.encoded) {
            self = original
            return
        }
        let passed = RequestPath(trusted: original.encoded)
        if self == passed {
            self = original
            return
        }
        // An environment that resolves references has made a reference of the text.
        if self == passed.asReference {
            self = original.asReference
            return
        }
        problem =
            original.isReference ? original.problem ?? PathProblem(.changedReference) : problem ?? original.problem
        let template = self.template
        if !original.encoded.isEmpty, template.hasByteSuffix(original.encoded) {
            let prefix = template.droppingLastBytes(original.encoded.utf8.count)
            shape = PathTemplate(path: encoded, text: prefix + original.template)
        }
    }

    /// Returns the error of a literal with these bytes, or nil if it can be sent.
    static func problem(inLiteral bytes: UnsafeBufferPointer<UInt8>) -> RequestError.InvalidRequest? {
        switch bytes.first(where: { $0 < 0x20 || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == 0x7F }) {
        case nil: nil
        case UInt8(ascii: "?"): .queryInPath
        case UInt8(ascii: "#"): .fragmentInPath
        default: .controlCharacterInPath
        }
    }
}

extension RequestPath: ExpressibleByStringInterpolation {
    /// Creates a path from a literal, which is trusted.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// Creates a path from trusted text and interpolated values.
    public init(stringInterpolation: StringInterpolation) {
        var writer = stringInterpolation.writer
        writer.finish()
        shape = PathTemplate(writer)
        problem = writer.problem
    }

    /// The pieces of an interpolated path.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var writer = PathWriter()

        /// Creates an empty interpolation; the capacities have no effect.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Appends trusted text.
        public mutating func appendLiteral(_ literal: String) {
            writer.write(literal: literal)
        }

        /// Appends `value` as part of one segment, percent-encoded.
        public mutating func appendInterpolation(_ value: some PathValue) {
            append(value: value.pathText)
        }

        /// Appends the raw value of `value` as part of one segment, percent-encoded.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: PathValue {
            append(value: value.rawValue.pathText)
        }

        /// Appends a `PathValue` that also has a raw value; its ``PathValue/pathText`` is used.
        public mutating func appendInterpolation<Value: RawRepresentable & PathValue>(_ value: Value)
        where Value.RawValue: PathValue {
            append(value: value.pathText)
        }

        /// Appends a value of one or more segments, such as an object's key or a file's path in a repository.
        ///
        /// Slashes in `text` separate segments. Every other byte is encoded except letters, digits and `- . _ ~`. If a
        /// segment is empty, `.` or `..`, preparing the request throws ``RequestError/InvalidRequest/emptySegment`` or
        /// ``RequestError/InvalidRequest/dotSegment`` with the value, so the path never leaves the directory of the
        /// literal. This includes an empty text, and a slash at the beginning or the end.
        public mutating func appendInterpolation(segments text: some StringProtocol) {
            writer.write(segments: String(text))
        }

        /// Appends text that is trusted like the literal, such as a path that the server has sent: slashes separate
        /// segments and valid `%XX` is kept.
        ///
        /// Do not use it for user input; use `\(segments:)` instead. Segments `..`, encoded ones included, may not
        /// leave the directory of the literal, and may not be next to an encoded slash:
        /// `"/files/\(raw: "../x")"` and `"/files/\(raw: "..%2Fx")"` fail with
        /// ``RequestError/InvalidRequest/dotSegment`` when the request is prepared.
        public mutating func appendInterpolation(raw text: some StringProtocol) {
            writer.write(raw: String(text))
        }

        mutating func append(value text: String) {
            writer.write(value: text)
        }
    }
}

extension RequestPath: Hashable {
    /// Returns whether the encoded paths and the templates are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.shape == right.shape && left.problem?.reason == right.problem?.reason
            && left.isReference == right.isReference
    }

    /// Hashes the encoded path.
    public func hash(into hasher: inout Hasher) { hasher.combine(encoded) }
}

extension RequestPath: CustomStringConvertible, CustomReflectable {
    /// The path as it is sent, without the userinfo and the secret query items of a URI reference.
    public var description: String { isReference ? Redaction.standard.redacted(reference: encoded) : encoded }

    /// The mirror that `dump` prints: the description.
    public var customMirror: Mirror { Mirror(self, children: ["path": description]) }
}
