extension OAuthServer {
    /// A signed statement about an app or a user, as a JSON Web Token (RFC 7523 §3, RFC 7519).
    ///
    /// Each described request has a new assertion; a repetition of that request has the same one.
    ///
    /// ```swift
    /// let assertion = OAuthServer.Assertion(
    ///     issuer: account, audience: "https://login.example.com",
    ///     algorithm: "RS256", keyID: keyID
    /// ) { input in try key.signature(for: input) }
    /// let credential = try await tokens.perform { $0.jwtBearer(assertion) }
    /// ```
    public struct Assertion: Sendable {
        /// A function that returns the signature of bytes.
        ///
        /// Errors that are not a `RequestError` become the underlying error of `credentialsUnavailable`.
        public typealias Signature = @Sendable (Data) throws -> Data

        private let claims: [String: JSONValue]
        private let header: [String: JSONValue]
        private let lifetime: Duration
        private let sign: Signature
        private let problem: Failure?

        /// Creates an assertion from its claims.
        ///
        /// - Parameters:
        ///   - issuer: The issuer, typically the identifier of the app (`iss`).
        ///   - subject: The subject (`sub`); nil for the issuer.
        ///   - audience: The server, typically its issuer or its token endpoint (`aud`).
        ///   - lifetime: The time from its creation to its expiry, from 1 s to 1 hour; others are limited to that.
        ///   - claims: Further claims. Those that this type sets itself are an error of the request.
        ///   - algorithm: The name of the algorithm (RFC 7518 §3.1), such as `RS256`. `none` is an error of the
        ///     request.
        ///   - keyID: The identifier of the key (`kid`), or nil.
        ///   - sign: The function that signs the assertion.
        public init(
            issuer: String, subject: String? = nil, audience: String, lifetime: Duration = .seconds(300),
            claims: [String: JSONValue] = [:], algorithm: String, keyID: String? = nil,
            sign: @escaping Signature
        ) {
            self.claims = claims.merging([
                "iss": .string(issuer), "sub": .string(subject ?? issuer), "aud": .string(audience),
            ]) { $1 }
            var header: [String: JSONValue] = ["alg": .string(algorithm), "typ": "JWT"]
            if let keyID { header["kid"] = .string(keyID) }
            self.header = header
            self.lifetime = min(max(.seconds(1), lifetime), .seconds(3_600))
            self.sign = sign
            let repeated = ["iss", "sub", "aud", "iat", "exp", "jti"].first { claims[$0] != nil }
            let empty = [("issuer", issuer), ("audience", audience)].first { $0.1.isEmpty }
            if let repeated {
                problem = .invalidParameter("claim “\(repeated)”, which the assertion sets itself")
            } else if let empty {
                problem = .invalidParameter("\(empty.0) of an assertion")
            } else if !OAuthText.isVisible(algorithm) || ASCIIFolding.areEqual(algorithm, "none") {
                // An unsigned assertion proves nothing (RFC 7523 §3).
                problem = .invalidParameter("algorithm of an assertion")
            } else {
                problem = nil
            }
        }

        /// Returns an assertion that is signed with HMAC and SHA-256, `HS256`.
        ///
        /// `key` is the secret; the other parameters are described at
        /// ``init(issuer:subject:audience:lifetime:claims:algorithm:keyID:sign:)``.
        public static func hmacSHA256(
            issuer: String, subject: String? = nil, audience: String, lifetime: Duration = .seconds(300),
            claims: [String: JSONValue] = [:], keyID: String? = nil, key: Data
        ) -> Assertion {
            Assertion(
                issuer: issuer, subject: subject, audience: audience, lifetime: lifetime, claims: claims,
                algorithm: "HS256", keyID: keyID
            ) { try RequestSigner.hmacSHA256(of: $0, key: key) }
        }

        /// Returns the assertion as text (RFC 7515 §7.1).
        ///
        /// - Parameters:
        ///   - date: The current date.
        ///   - id: The identifier of this assertion (`jti`).
        /// - Returns: The header, the claims and the signature.
        /// - Throws: `RequestError` with `credentialsUnavailable`; nothing is sent.
        func token(at date: Date, id: String) throws(RequestError) -> String {
            if let problem { throw RequestError(problem) }
            let time = date.timeIntervalSince1970
            // `Int` of a larger value would trap.
            guard time >= 0, time < 253_402_300_800 else { throw RequestError(Failure.invalidParameter("date")) }
            let seconds = Int(time)
            let claims = claims.merging([
                "iat": .integer(seconds), "exp": .integer(seconds + Int(lifetime.components.seconds)),
                "jti": .string(id),
            ]) { $1 }
            do {
                let encoder = BodyProvider.makeDeterministicEncoder()
                let input = try [header, claims].map { Base64URL.encode(try encoder.encode($0)) }
                    .joined(separator: ".")
                return "\(input).\(Base64URL.encode(try sign(Data(input.utf8))))"
            } catch {
                throw RequestError.wrapped(error, as: .credentialsUnavailable).beforeSending()
            }
        }
    }
}

extension OAuthServer.Assertion: CustomStringConvertible, CustomReflectable {
    /// The kind of the assertion, without its claims.
    public var description: String { "signed assertion" }

    /// The mirror that `dump` prints: the kind only.
    public var customMirror: Mirror { Mirror(self, children: ["kind": description]) }
}
