@_spi(Lock) import Requests
import RequestsPOSIX
import RequestsSocket
import Testing

/// The rules of a proxy that requires Digest credentials, with its own computation (RFC 7616 §3.4.1).
final class DigestProxy: Sendable {
    struct State: Sendable {
        var nonce = 0
        var counts: Set<String> = []
        /// The number of requests that each nonce is accepted for.
        var lifetime = Int.max
        var accepted = 0
        var challenges = 0
    }

    static let username = "planted-user"
    static let password = "planted-password"

    /// The further parameters of the challenges.
    private let parameters: String
    let state = Lock(State())

    init(_ parameters: String = "qop=\"auth\"") {
        self.parameters = parameters
    }

    /// Returns the value of Proxy-Authenticate if the request with this head is refused; nil if it is accepted.
    func challenge(for head: String) -> String? {
        let sent = AuthenticationChallenge.challenges(in: head.field("Proxy-Authorization") ?? "").first?.parameters
        return state.withLock { state in
            guard let sent else { return challenge(&state) }
            if state.counts.count >= state.lifetime {
                state.nonce += 1
                state.counts = []
            }
            guard sent["nonce"] == "nonce-\(state.nonce)" else { return challenge(&state, ", stale=true") }
            guard isRight(sent, head), state.counts.insert(sent["nc"] ?? "").inserted else { return challenge(&state) }
            state.accepted += 1
            return nil
        }
    }

    private func challenge(_ state: inout State, _ suffix: String = "") -> String {
        state.challenges += 1
        return "Digest realm=\"r\", nonce=\"nonce-\(state.nonce)\", algorithm=SHA-256, \(parameters)\(suffix)"
    }

    private func isRight(_ sent: FieldParameters, _ head: String) -> Bool {
        func value(_ name: String) -> String { sent[name] ?? "" }
        let line = head.prefix { $0 != "\r\n" }.split(separator: " ")
        let body = head.firstRange(of: "\r\n\r\n").map { String(head[$0.upperBound...]) } ?? ""
        var message = "\(line[0]):\(value("uri"))"
        if value("qop") == "auth-int" { message += ":\(hex(body))" }
        let key = hex("\(Self.username):r:\(Self.password)")
        let text = "\(key):\(value("nonce")):\(value("nc")):\(value("cnonce")):\(value("qop")):\(hex(message))"
        return value("username") == Self.username && value("uri") == line[1] && value("response") == hex(text)
    }

    private func hex(_ text: String) -> String {
        let bytes = (try? SystemHashes.shared.digest(of: Data(text.utf8), with: .sha256)) ?? []
        return bytes.map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }
}

extension DigestProxy {
    /// The way in which a proxy ends the response to a refused request.
    enum Ending: CaseIterable {
        /// The connection stays open.
        case keepsOpen
        /// The connection stays open, and the response is chunked.
        case chunked
        /// The connection closes as announced.
        case closes
        /// The connection closes as announced by a response without a length.
        case untilClose
        /// The connection closes although that is not announced.
        case closesSilently
        /// The body is longer than what is worth reading.
        case longBody

        var reuses: Bool { self == .keepsOpen || self == .chunked }

        func response(_ challenge: String) -> String {
            let start = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: \(challenge)\r\n"
            return switch self {
            case .keepsOpen, .closesSilently: start + "Content-Length: 3\r\n\r\nno!"
            case .chunked: start + "Transfer-Encoding: chunked\r\n\r\n3\r\nno!\r\n0\r\n\r\n"
            case .closes: start + "Connection: close\r\nContent-Length: 3\r\n\r\nno!"
            case .untilClose: start + "\r\nno!"
            case .longBody: start + "Content-Length: 50000\r\n\r\n\(String(repeating: "n", count: 50_000))"
            }
        }
    }

    /// Returns a proxy that forwards nothing: it responds to accepted requests with “ok”.
    func peer(
        ending: Ending = .keepsOpen, bodyLength: Int = 0, response: String = ok
    ) throws -> ScriptedPeer {
        try ScriptedPeer { [self] line, _, peer in
            while let head = line.receiveRequest(bodyLength: bodyLength) {
                peer.note(head)
                let refusal = challenge(for: head)
                line.send(refusal.map(ending.response) ?? response)
                if refusal != nil, ending != .keepsOpen, ending != .chunked, ending != .longBody { return }
            }
        }
    }
}

extension String {
    /// Returns the value of the field `name`; nil if there is none.
    func field(_ name: String) -> String? {
        let line = split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }
        return line.map { String($0.dropFirst(name.count + 2)) }
    }
}
