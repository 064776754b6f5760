internal import RequestsPOSIX

/// The use of one nonce: parallel requests share it, and each has its own count (RFC 7616 §3.4).
struct DigestSession: Sendable {
    /// A number that changes with each new challenge.
    let generation: Int
    let challenge: DigestChallenge
    /// The nonce of the next request, which the server may have replaced since the challenge.
    private(set) var nonce: String
    /// The client's nonce, which is the same for the whole session.
    let clientNonce: String
    /// The hash of user name, realm and password, and for `-sess` also of the first nonces, in hexadecimal.
    let key: String
    /// The user name, hashed if the server requires that.
    let username: DigestCredentials.Username
    private(set) var count: UInt32 = 0
    /// Whether a request with this nonce was accepted.
    var wasAccepted = false

    /// Begins the session of a challenge.
    ///
    /// - Throws: `HashError` if its algorithm is unavailable.
    init(
        _ challenge: DigestChallenge, username: String, password: String, clientNonce: String, generation: Int,
        hashes: any HashProvider
    ) throws(HashError) {
        self.generation = generation
        self.challenge = challenge
        self.clientNonce = clientNonce
        nonce = challenge.nonce
        // Servers that announce UTF-8 hash the normalized form (RFC 7616 §4); others hash what was registered.
        let (username, password) =
            challenge.isUTF8
            ? (NormalizedText.composed(username), NormalizedText.composed(password)) : (username, password)
        key = try DigestCredentials.key(
            for: challenge, username: username, password: password, clientNonce: clientNonce, hashes)
        self.username = try DigestCredentials.username(username, for: challenge, hashes)
    }

    mutating func next() -> (nonce: String, count: UInt32) {
        // Wraps around after four billion requests, which the server then rejects as stale.
        count &+= 1
        return (nonce, count)
    }

    /// Replaces the nonce with the next nonce from an Authentication-Info field (RFC 7616 §3.5).
    mutating func replaceNonce(by next: String) {
        nonce = next
        count = 0
    }
}
