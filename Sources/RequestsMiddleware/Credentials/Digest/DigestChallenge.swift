internal import RequestsPOSIX

/// A Digest challenge that can be met (RFC 7616 §3.3).
struct DigestChallenge: Sendable {
    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: HashAlgorithm
    /// The algorithm as the server wrote it; nil if it wrote none, which means MD5.
    let algorithmName: String?
    /// Whether the key is derived from the first nonces of a session (`-sess`).
    let isSession: Bool
    /// Whether the server offers protection of the request without its body.
    let offersAuthentication: Bool
    /// Whether the server offers protection of the request with its body.
    let offersIntegrity: Bool
    let hashesUsername: Bool
    let isUTF8: Bool
    let isStale: Bool

    /// The parameters that the credentials depend on.
    private static let usedNames = [
        "realm", "nonce", "opaque", "algorithm", "qop", "stale", "userhash", "charset",
    ]

    /// Creates the challenge from a field.
    ///
    /// The result is nil for another scheme, an unknown algorithm or quality of protection, a missing nonce, a repeated
    /// parameter that the credentials depend on, or a value that a field cannot contain.
    init?(_ challenge: AuthenticationChallenge) {
        let parameters = challenge.parameters
        guard challenge.usesScheme("Digest"), let nonce = parameters["nonce"] else { return nil }
        let realm = parameters["realm"] ?? ""
        let algorithmName = parameters["algorithm"]
        guard let (algorithm, isSession) = Self.algorithm(algorithmName ?? "MD5") else { return nil }
        for value in [nonce, realm, parameters["opaque"], algorithmName] where value.map(Token.isFieldValue) == false {
            return nil
        }
        for name in Self.usedNames
        where parameters.lazy.filter({ ASCIIFolding.areEqual($0.name, name) }).dropFirst().first != nil {
            return nil
        }
        let qualities = parameters["qop"].map(Self.tokens)
        self.realm = realm
        self.nonce = nonce
        opaque = parameters["opaque"]
        self.algorithm = algorithm
        self.algorithmName = algorithmName
        self.isSession = isSession
        offersAuthentication = qualities?.contains { ASCIIFolding.areEqual($0, "auth") } ?? false
        offersIntegrity = qualities?.contains { ASCIIFolding.areEqual($0, "auth-int") } ?? false
        // A server that offers only unknown qualities of protection cannot be satisfied; one that offers none can
        // (RFC 2069).
        if let qualities, !qualities.isEmpty, !offersAuthentication, !offersIntegrity { return nil }
        hashesUsername = Self.isTrue(parameters["userhash"])
        isUTF8 = parameters["charset"].map { ASCIIFolding.areEqual($0, "UTF-8") } ?? false
        isStale = Self.isTrue(parameters["stale"])
    }

    /// Returns the challenges that can be met, strongest first; equally strong ones keep the server's order.
    ///
    /// - Parameters:
    ///   - challenges: The challenges of a response.
    ///   - allowsMD5: Whether challenges with MD5 can be met.
    /// - Returns: The challenges.
    static func candidates(
        in challenges: [AuthenticationChallenge], allowingMD5 allowsMD5: Bool
    ) -> [DigestChallenge] {
        let usable = challenges.compactMap(DigestChallenge.init).filter { $0.algorithm != .md5 || allowsMD5 }
        // Grouped by algorithm, because sorting does not keep the order of equal elements.
        return [HashAlgorithm.sha512t256, .sha256, .md5].flatMap { algorithm in
            usable.filter { $0.algorithm == algorithm }
        }
    }

    private static func algorithm(_ name: String) -> (HashAlgorithm, isSession: Bool)? {
        let suffix = "-sess"
        let isSession =
            name.utf8.count > suffix.utf8.count
            && ASCIIFolding.areEqual(String(decoding: name.utf8.suffix(suffix.utf8.count), as: UTF8.self), suffix)
        let base = isSession ? String(name.droppingLastBytes(suffix.utf8.count)) : name
        let known: [HashAlgorithm] = [.sha512t256, .sha256, .md5]
        return known.first { ASCIIFolding.areEqual($0.rawValue, base) }.map { ($0, isSession) }
    }

    private static func tokens(_ list: String) -> [String] {
        list.splitBytes(at: ",").map { item in
            String(decoding: item.utf8.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
        }.filter { !$0.isEmpty }
    }

    private static func isTrue(_ value: String?) -> Bool { value.map { ASCIIFolding.areEqual($0, "true") } ?? false }
}
