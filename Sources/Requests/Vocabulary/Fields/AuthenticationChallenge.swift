/// One challenge of a WWW-Authenticate or Proxy-Authenticate field (RFC 9110 §11.3, §11.6.1).
public struct AuthenticationChallenge: Sendable {
    /// The scheme as it was spelled; compare it with ``isScheme(_:)``.
    public var scheme: String

    /// The parameters, unquoted.
    public var parameters: FieldParameters

    /// The single token that some schemes send in the place of parameters.
    public var token68: String?

    /// A challenge of `scheme` and `parameters`.
    public init(scheme: String, parameters: FieldParameters = [:], token68: String? = nil) {
        self.scheme = scheme
        self.parameters = parameters
        self.token68 = token68
    }

    /// Whether the scheme is `name`, without regard to ASCII case.
    public func isScheme(_ name: String) -> Bool { ASCIIFolding.areEqual(scheme, name) }

    /// The realm (RFC 9110 §11.5).
    public var realm: String? { parameters["realm"] }

    /// The challenges of one field's value, up to the first that is malformed.
    public static func challenges(in fieldValue: String) -> [AuthenticationChallenge] {
        var reader = FieldValueReader(fieldValue)
        var challenges: [AuthenticationChallenge] = []
        while true {
            reader.skipCommas()
            guard let challenge = AuthenticationChallenge(&reader) else { return challenges }
            challenges.append(challenge)
        }
    }

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

    /// A token68 that stands alone; nil, and nothing read, when something else does.
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

    /// Reads parameters up to the scheme of the next challenge; gives whether they were well-formed.
    private mutating func readParameters(_ reader: inout FieldValueReader) -> Bool {
        var names = DistinctNames()
        while true {
            reader.skipCommas()
            let start = reader.position
            guard let name = reader.token() else { return reader.isAtEnd }
            reader.skipWhitespace()
            guard reader.skip("=") else {
                reader.position = start
                return true
            }
            reader.skipWhitespace()
            guard let value = reader.value(), names.insert(name), reader.skipCommas() else { return false }
            parameters.append(name, value)
        }
    }

    /// The challenge as a field's value.
    public var fieldValue: String {
        let parts = parameters.map { "\($0.name)=\(FieldValueWriter.quoted($0.value))" }
        return ([scheme] + [token68 ?? parts.joined(separator: ", ")]).filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension AuthenticationChallenge: Hashable {
    /// Whether the schemes are the same, ignoring ASCII case, the parameters are, and the tokens octet by octet.
    public static func == (left: Self, right: Self) -> Bool {
        left.isScheme(right.scheme) && left.parameters == right.parameters
            && OctetText.areEqual(left.token68, right.token68)
    }

    /// Hashes scheme, parameters and token, so that equal challenges hash alike.
    public func hash(into hasher: inout Hasher) {
        ASCIIFolding.hash(scheme, into: &hasher)
        hasher.combine(parameters)
        OctetText.hash(token68, into: &hasher)
    }
}
