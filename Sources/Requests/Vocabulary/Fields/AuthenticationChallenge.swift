/// A challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110 §11.3, §11.6.1).
public struct AuthenticationChallenge: Sendable {
    /// The scheme with its original spelling; to compare it, use ``usesScheme(_:)``.
    public var scheme: String

    /// The parameters, without quotation marks and escapes.
    ///
    /// A challenge must not repeat a name (RFC 9110 §11.2). Repeated names in a response are kept, because they
    /// matter only to a scheme that uses the name.
    public var parameters: FieldParameters

    /// The token68 that some schemes send in place of parameters, or nil (RFC 9110 §11.2).
    public var token68: String?

    /// Creates a challenge; if `token68` is not nil, ``fieldValue`` does not contain the parameters.
    public init(scheme: String, parameters: FieldParameters = [:], token68: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// Returns whether the scheme is `name`, ignoring ASCII case.
    public func usesScheme(_ name: String) -> Bool { ASCIIFolding.areEqual(scheme, name) }

    /// The realm, or nil if there is none (RFC 9110 §11.5).
    public var realm: String? { parameters["realm"] }

    /// Returns the challenges of a field value, up to the first malformed one.
    package static func challenges(in fieldValue: String) -> [AuthenticationChallenge] {
        var reader = FieldValueReader(fieldValue)
        var challenges: [AuthenticationChallenge] = []
        while true {
            reader.skipCommas()
            guard let challenge = AuthenticationChallenge(&reader) else { return challenges }
            challenges.append(challenge)
        }
    }

    /// Reads one challenge.
    private init?(_ reader: inout FieldValueReader) {
        guard let scheme = reader.token() else { return nil }
        self.init(scheme: scheme)
        let isSpaced = reader.skipWhitespace()
        if reader.isAtEnd { return }
        guard isSpaced || reader.isAt(",") else { return nil }
        if isSpaced, let token = Self.token68(&reader) {
            token68 = token
            return
        }
        guard readParameters(&reader) else { return nil }
    }

    /// Reads a token68 that is followed by a comma or the end; otherwise returns nil without reading anything.
    private static func token68(_ reader: inout FieldValueReader) -> String? {
        let start = reader.position
        let isToken68: (UInt8) -> Bool = {
            ASCIIFolding.folded($0) &- 0x61 < 26 || $0 &- 0x30 < 10 || "-._~+/".utf8.contains($0)
        }
        if var token = reader.text(while: isToken68) {
            token += reader.text { $0 == UInt8(ascii: "=") } ?? ""
            reader.skipWhitespace()
            if reader.isAtEnd || reader.isAt(",") { return token }
        }
        reader.position = start
        return nil
    }

    /// Reads the parameters up to the scheme of the next challenge and returns whether they are well-formed.
    private mutating func readParameters(_ reader: inout FieldValueReader) -> Bool {
        while true {
            reader.skipCommas()
            let start = reader.position
            guard let name = reader.token() else { return reader.isAtEnd }
            reader.skipWhitespace()
            // A token without `=` is the scheme of the next challenge, which is read again.
            guard reader.skip("=") else {
                reader.position = start
                return true
            }
            reader.skipWhitespace()
            guard let value = reader.value(), reader.skipCommas() else { return false }
            parameters.add(name: name, value: value)
        }
    }

    /// The challenge as a field value.
    public var fieldValue: String {
        let parts = parameters.map { "\($0.name)=\(FieldValueWriter.quoted($0.value))" }
        return ([scheme] + [token68 ?? parts.joined(separator: ", ")]).filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension AuthenticationChallenge: Hashable {
    /// Returns whether schemes, ignoring ASCII case, parameters and tokens are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.usesScheme(right.scheme) && left.parameters == right.parameters
            && left.token68.hasSameBytes(as: right.token68)
    }

    /// Hashes the folded scheme, the parameters and the token, so that equal challenges hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(scheme, into: &hasher)
        hasher.combine(parameters)
        token68.hashBytes(into: &hasher)
    }
}
