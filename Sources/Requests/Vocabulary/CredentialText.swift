/// The secrets in the values of fields that identify a user.
enum CredentialText {
    /// The schemes whose credentials are a single word (RFC 6750 §2.1, RFC 7617 §2, RFC 4559 §4).
    private static let wordSchemes = ["basic", "bearer", "negotiate", "ntlm"]

    /// The schemes whose parameters are public, except for parameters with secret names and `response`.
    ///
    /// See RFC 7616 §3.4, RFC 5849 §3.5.1, and the signatures of requests.
    private static let parameterSchemes = ["digest", "oauth", "signature"]
    private static let signaturePrefixes = ["aws4-", "goog4-"]

    /// Returns the parts of a secret field that are secrets on their own, and its whole value.
    static func secrets(of field: Field) -> [String] {
        if field.name == .cookie { return field.value.splitBytes(at: ";").flatMap(cookieValues) }
        let words = field.value.replacingBytes { $0 == 0x09 ? " " : nil }.splitBytes(at: " ")
        // The first word of credentials is their scheme (RFC 9110 §11.4).
        guard words.count > 1 else { return [field.value] + values(of: words) { _ in true } }
        let scheme = ASCIIFolding.folded(String(words[0]))
        guard Token.isToken(scheme) else { return [field.value] }
        let credentials = Array(words.dropFirst())
        let isPublic =
            parameterSchemes.contains(scheme) || signaturePrefixes.contains { scheme.hasBytePrefix($0) }
        if isPublic {
            return [field.value]
                + values(of: credentials) { ASCIIFolding.areEqual($0, "response") || Redaction.standard.isSecret($0) }
        }
        guard wordSchemes.contains(scheme), credentials.count == 1 else {
            return [field.value] + credentials.map(String.init) + values(of: credentials) { _ in true }
        }
        let word = String(credentials[0])
        guard scheme == "basic", let data = Data(base64Encoded: word) else { return [field.value, word] }
        let text = String(decoding: data, as: UTF8.self)
        return [field.value, word, text] + text.splitBytes(at: ":", maxSplits: 1).dropFirst().map(String.init)
    }

    /// Returns the values of the parameters in `words` whose names satisfy `condition`.
    private static func values(of words: [Substring], _ condition: (String) -> Bool) -> [String] {
        words.flatMap { $0.splitBytes(at: ";") }.flatMap { $0.splitBytes(at: ",") }.flatMap { parameter in
            let parts = parameter.splitBytes(at: "=", maxSplits: 1)
            guard condition(parts.count == 2 ? String(parts[0]) : "") else { return [String]() }
            return quotedForms(of: parts[parts.count - 1])
        }
    }

    /// Returns the value of a cookie in the form `name=value`.
    static func cookieValues(_ pair: Substring) -> [String] {
        pair.splitBytes(at: "=", maxSplits: 1).dropFirst().flatMap(quotedForms)
    }

    /// Returns a value as written, and without quotation marks.
    private static func quotedForms(of value: Substring) -> [String] {
        [String(value), value.replacingBytes { $0 == UInt8(ascii: "\"") ? "" : nil }]
    }

    /// Returns `secret` and the variants of it that ``SecretFinder`` does not decode.
    static func variants(of secret: String) -> [String] {
        let decoded = PercentEncoding.decode(secret)
        // Forms write a space as a plus sign; base64url has two other digits and no padding (RFC 4648 §5).
        let form = decoded.replacingBytes { $0 == 0x20 ? "+" : nil }
        let query = secret.replacingBytes { $0 == UInt8(ascii: "+") ? " " : nil }
        let base64 = secret.replacingBytes { byte in
            switch byte {
            case UInt8(ascii: "+"): "-"
            case UInt8(ascii: "/"): "_"
            case UInt8(ascii: "="): ""
            default: nil
            }
        }
        return [secret, decoded, form, query, PercentEncoding.decode(query), base64]
    }
}
