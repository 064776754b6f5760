internal import RequestsPOSIX

/// The computation of Digest credentials (RFC 7616 §3.4), without state.
enum DigestCredentials {
    enum Username: Sendable {
        /// As a quoted string.
        case plain(String)
        /// As an extended value, `username*`, for characters outside ASCII.
        case extended(String)
        /// As the hash of the name and the realm.
        case hashed(String)
    }

    /// The quality of protection.
    enum Quality: Sendable {
        /// None, as in RFC 2069.
        case none
        /// The request without its body.
        case authentication
        /// The request with its body, whose hash in hexadecimal is included.
        case integrity(bodyHash: String)
    }

    /// The parts of a request that the credentials protect.
    struct Message: Sendable {
        let method: String
        let target: String
        let quality: Quality
    }

    /// The values of a request from which the server computes its own digest (RFC 7616 §3.5).
    struct Proof: Sendable {
        let session: DigestSession
        let target: String
        let nonce: String
        let count: UInt32

        /// Returns the digest of a response; its message contains no method.
        ///
        /// - Parameters:
        ///   - isProtected: Whether the server names a quality of protection; there is none in RFC 2069.
        ///   - body: The body, for `auth-int`; nil for other qualities.
        ///   - hashes: The hash functions.
        /// - Returns: The digest in hexadecimal.
        /// - Throws: `HashError` if its algorithm is unavailable.
        func responseDigest(
            isProtected: Bool, body: Data?, _ hashes: any HashProvider
        ) throws(HashError) -> String {
            let challenge = session.challenge
            var quality = isProtected || challenge.offersAuthentication ? Quality.authentication : .none
            if let body {
                quality = .integrity(
                    bodyHash: HexadecimalText.of(try hashes.digest(of: body, with: challenge.algorithm)))
            }
            let message = Message(method: "", target: target, quality: quality)
            return try DigestCredentials.response(
                to: message, key: session.key, nonce: nonce, count: count, clientNonce: session.clientNonce,
                challenge.algorithm, hashes)
        }
    }

    /// Returns the key of a session: H(user:realm:password), for `-sess` hashed again with both nonces.
    static func key(
        for challenge: DigestChallenge, username: String, password: String, clientNonce: String,
        _ hashes: any HashProvider
    ) throws(HashError) -> String {
        let secret = try hash("\(username):\(challenge.realm):\(password)", challenge.algorithm, hashes)
        guard challenge.isSession else { return secret }
        return try hash("\(secret):\(challenge.nonce):\(clientNonce)", challenge.algorithm, hashes)
    }

    /// Returns the user name in the form that the challenge requires.
    static func username(
        _ username: String, for challenge: DigestChallenge, _ hashes: any HashProvider
    ) throws(HashError) -> Username {
        if challenge.hashesUsername {
            return .hashed(try hash("\(username):\(challenge.realm)", challenge.algorithm, hashes))
        }
        // Servers that do not announce UTF-8 may not know the extended form.
        return challenge.isUTF8 && username.utf8.contains { $0 >= 0x80 } ? .extended(username) : .plain(username)
    }

    /// Returns the response to a challenge: H(key:nonce:nc:cnonce:qop:H(method:uri)), in hexadecimal.
    static func response(
        to message: Message, key: String, nonce: String, count: UInt32, clientNonce: String,
        _ algorithm: HashAlgorithm, _ hashes: any HashProvider
    ) throws(HashError) -> String {
        var request = "\(message.method):\(message.target)"
        if case .integrity(let bodyHash) = message.quality { request += ":\(bodyHash)" }
        let requestHash = try hash(request, algorithm, hashes)
        guard let name = message.quality.name else {
            return try hash("\(key):\(nonce):\(requestHash)", algorithm, hashes)
        }
        return try hash(
            "\(key):\(nonce):\(hexadecimal(count)):\(clientNonce):\(name):\(requestHash)", algorithm, hashes)
    }

    /// Returns the value of an Authorization or Proxy-Authorization field.
    static func fieldValue(
        for message: Message, in session: DigestSession, nonce: String, count: UInt32, _ hashes: any HashProvider
    ) throws(HashError) -> String {
        let challenge = session.challenge
        let response = try response(
            to: message, key: session.key, nonce: nonce, count: count, clientNonce: session.clientNonce,
            challenge.algorithm, hashes)
        var parts = [
            session.username.parameter, "realm=\(quoted(challenge.realm))", "nonce=\(quoted(nonce))",
            "uri=\(quoted(message.target))",
        ]
        if let name = message.quality.name {
            parts += ["cnonce=\(quoted(session.clientNonce))", "nc=\(hexadecimal(count))", "qop=\(name)"]
        } else if challenge.isSession {
            // The key depends on the client's nonce, so the server needs it without a quality of protection too.
            parts.append("cnonce=\(quoted(session.clientNonce))")
        }
        parts.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parts.append("opaque=\(quoted(opaque))") }
        if let name = challenge.algorithmName { parts.append("algorithm=\(name)") }
        if challenge.hashesUsername { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// Returns the digest of `text` in lower-case hexadecimal.
    static func hash(
        _ text: String, _ algorithm: HashAlgorithm, _ hashes: any HashProvider
    ) throws(HashError) -> String {
        HexadecimalText.of(try hashes.digest(of: Data(text.utf8), with: algorithm))
    }

    /// Returns the count as eight digits.
    private static func hexadecimal(_ count: UInt32) -> String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
    }

    /// Returns `text` as a quoted string, with its quotation marks and backslashes escaped (RFC 9110 §5.6.4).
    fileprivate static func quoted(_ text: String) -> String {
        "\""
            + text.replacingBytes { byte in
                switch byte {
                case UInt8(ascii: "\""): "\\\""
                case UInt8(ascii: "\\"): "\\\\"
                default: nil
                }
            } + "\""
    }
}

extension DigestCredentials.Quality {
    /// The value of the parameter `qop`; nil if there is none.
    var name: String? {
        switch self {
        case .none: nil
        case .authentication: "auth"
        case .integrity: "auth-int"
        }
    }
}

extension DigestCredentials.Username {
    fileprivate var parameter: String {
        switch self {
        case .plain(let name), .hashed(let name): "username=\(DigestCredentials.quoted(name))"
        // RFC 8187 §3.2.1 leaves more characters unchanged, but no recipient may require that.
        case .extended(let name): "username*=UTF-8''\(PercentEncoding.rfc3986.encode(name))"
        }
    }
}

/// Bytes as lower-case hexadecimal text.
enum HexadecimalText {
    static func of(_ bytes: some Collection<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            var count = 0
            for byte in bytes {
                text[count] = digit(byte >> 4)
                text[count + 1] = digit(byte & 15)
                count += 2
            }
            return count
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 &+ value : 0x57 &+ value }
}
