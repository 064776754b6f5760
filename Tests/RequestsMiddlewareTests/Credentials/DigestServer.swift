@_spi(Lock) import Requests
import RequestsMock
import RequestsPOSIX

/// A server that challenges with Digest and verifies the credentials, with its own computation.
final class DigestServer: Sendable {
    struct State: Sendable {
        var nonce = "nonce-0"
        var counts: Set<String> = []
        var challenges = 0
        var accepted = 0
        /// The number of requests after which the nonce is stale.
        var lifetime = Int.max
        /// Whether each response announces the next nonce, and only that one is accepted.
        var announcesNext = false
        /// Whether the server says that a nonce it does not accept any more is stale.
        var marksStale = true
        var problems: [String] = []
        /// A function that returns the proof of the server from the right one; nil for none.
        var prove: (@Sendable (String) -> String)?
    }

    let state = Lock(State())
    let username: String
    let password: String
    let parameters: FieldParameters
    let hash: HashAlgorithm

    init(
        username: String = "planted-user", password: String = "planted-password", hash: HashAlgorithm = .sha256,
        _ parameters: FieldParameters = ["qop": "auth"]
    ) {
        self.username = username
        self.password = password
        self.hash = hash
        self.parameters = parameters
    }

    var executor: MockExecutor {
        MockExecutor { [self] request in
            // Outside the lock, because a body can be a file or a stream.
            let body = try await request.body.collected(limit: 1 << 20)
            guard case .bytes(let data) = body else { return response(to: request, Data()) }
            return response(to: request, data)
        }
    }

    private func challenge(isStale: Bool, _ state: inout State) -> MockResponse {
        state.challenges += 1
        var all: FieldParameters = ["realm": "r", "nonce": state.nonce, "opaque": "o", "algorithm": hash.rawValue]
        for (name, value) in parameters { all[name] = value }
        if isStale, state.marksStale { all["stale"] = "true" }
        let value = AuthenticationChallenge(scheme: "Digest", parameters: all).fieldValue
        return .status(401).adding(headerField: Field(name: .wwwAuthenticate, value: value))
    }

    private func response(to request: PreparedRequest, _ body: Data) -> MockResponse {
        let sent = AuthenticationChallenge.challenges(in: request.header[.authorization] ?? "").first?.parameters
        return state.withLock { state in
            guard let sent else { return challenge(isStale: false, &state) }
            guard sent["nonce"] == state.nonce, state.counts.count < state.lifetime else {
                if sent["nonce"] == state.nonce {
                    state.nonce = "nonce-\(state.challenges)"
                    state.counts = []
                }
                return challenge(isStale: true, &state)
            }
            guard verify(sent, request, body), state.counts.insert(sent["nc"] ?? "\(state.accepted)").inserted else {
                state.problems.append("\(sent)")
                return challenge(isStale: false, &state)
            }
            state.accepted += 1
            if let prove = state.prove {
                let info = "qop=\(sent["qop"] ?? "auth"), rspauth=\"\(prove(proof(sent)))\", nc=00000001"
                return MockResponse.ok("in").adding(headerField: Field(name: "Authentication-Info", value: info))
            }
            guard state.announcesNext else { return .ok("in") }
            state.nonce = "next-\(state.accepted)"
            state.counts = []
            let info = Field(name: "Authentication-Info", value: "nextnonce=\"\(state.nonce)\", qop=auth")
            return MockResponse.ok("in").adding(headerField: info)
        }
    }

    private func hex(_ text: String) -> String { hex(Data(text.utf8)) }

    private func hex(_ data: Data) -> String {
        let bytes = (try? SystemHashes.shared.digest(of: data, with: hash)) ?? []
        return bytes.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }

    /// The digest of a response (RFC 7616 §3.5).
    private func proof(_ sent: FieldParameters) -> String {
        func value(_ name: String) -> String { sent[name] ?? "" }
        let middle = sent["qop"].map { "\(value("nc")):\(value("cnonce")):\($0):" } ?? ""
        let body = sent["qop"] == "auth-int" ? ":\(hex("in"))" : ""
        return hex("\(hex("\(username):r:\(password)")):\(value("nonce")):\(middle)\(hex(":\(value("uri"))\(body)"))")
    }

    /// Verifies the credentials of RFC 7616 §3.4.1.
    private func verify(_ sent: FieldParameters, _ request: PreparedRequest, _ body: Data) -> Bool {
        func value(_ name: String) -> String { sent[name] ?? "" }
        var key = hex("\(username):\(value("realm")):\(password)")
        if value("algorithm").lowercased().hasSuffix("-sess") {
            key = hex("\(key):\(value("nonce")):\(value("cnonce"))")
        }
        var message = "\(request.method):\(value("uri"))"
        if value("qop") == "auth-int" {
            message += ":" + hex(body)
        }
        let middle = sent["qop"].map { "\(value("nc")):\(value("cnonce")):\($0):" } ?? ""
        let isUser = value("username") == (value("userhash") == "true" ? hex("\(username):r") : username)
        return isUser && value("uri") == request.target.requestTarget && value("opaque") == "o"
            && value("response") == hex("\(key):\(value("nonce")):\(middle)\(hex(message))")
    }
}
