/// The rule for bearer tokens: one or more visible ASCII characters (RFC 6749 A.12).
///
/// The space is excluded, because it would end the token in a field.
///
/// RFC 6750 §2.1 allows fewer, but servers issue tokens such as `5|abc`, and the app does not choose them.
package enum BearerToken {
    /// Returns the reason why `token` cannot be sent; nil for a valid token.
    ///
    /// The reason names the first invalid character, but does not contain the token.
    package static func problem(of token: some StringProtocol) -> String? {
        guard !token.isEmpty else { return "it is empty" }
        var offset = 0
        for scalar in token.unicodeScalars {
            if !(0x21...0x7E).contains(scalar.value) {
                let digits = String(scalar.value, radix: 16, uppercase: true)
                let number = "U+" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
                return "it contains \(scalar == " " ? "a space" : number) at offset \(offset)"
            }
            offset += 1
        }
        return nil
    }

    /// Returns the problem of the bearer token in the value of an Authorization field; nil for another scheme.
    static func problem(ofAuthorization value: String) -> String? {
        let bytes = value.utf8
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")),
            ASCIIFolding.areEqual(String(value[..<space]), "Bearer")
        else { return nil }
        return problem(of: value[bytes.index(after: space)...])
    }
}
