import Requests
import RequestsHTTP1

/// The messages that request a tunnel from a proxy; it uses no socket.
protocol TunnelDialogue: Sendable {
    /// Returns the next step after `received` has arrived; the first call on a connection has no bytes.
    ///
    /// - Throws: ``RequestError`` if the proxy refuses, or violates its protocol.
    mutating func next(_ received: [UInt8]) throws(RequestError) -> TunnelStep

    /// Records that the connection was lost, and returns whether the dialogue continues on another one.
    mutating func loseConnection() throws(RequestError) -> Bool
}

enum TunnelStep: Sendable {
    /// Send these bytes, then receive; empty if more bytes must be received first.
    case send([UInt8])
    /// Connect again; the dialogue continues there.
    case reconnect
    /// The proxy has opened the tunnel: use the connection.
    case establish
}

extension TunnelDialogue {
    mutating func loseConnection() -> Bool { false }
}

// MARK: HTTP

/// A CONNECT request (RFC 9110 §9.3.6), which is sent again after a challenge if the proxy has an authenticator.
///
/// The proxy receives no field of the request that uses the tunnel.
struct ConnectDialogue: TunnelDialogue {
    enum Credentials: Sendable {
        case none
        /// The same value of Proxy-Authorization for every tunnel.
        case fixed(String)
        case signIn(ProxySignIn)
    }

    private enum Stage {
        /// Nothing was sent on this connection.
        case beginning
        case head
        /// The body of a challenge is being read, to reuse the connection afterwards.
        case challenge
    }

    /// The maximum length in bytes of a challenge's body that is read; after a longer one, another connection is used.
    private static let longestChallenge = 16 << 10

    private let authority: String
    private var credentials: Credentials
    private let target: TargetURI
    private let limits: WireLimits
    private var reader: ResponseReader
    private var buffer: [UInt8] = []
    private var stage = Stage.beginning
    private var skipped = 0
    /// Whether this connection has carried a challenge.
    private var isReused = false

    init(to target: TargetURI, with credentials: Credentials, _ limits: WireLimits) {
        authority = target.tunnelAuthority
        self.credentials = credentials
        self.target = target
        self.limits = limits
        reader = ResponseReader(answering: .connect, limits: limits)
    }

    mutating func next(_ received: [UInt8]) throws(RequestError) -> TunnelStep {
        if stage == .beginning { return request() }
        buffer += received
        while true {
            let (consumed, event) = try read()
            buffer.removeFirst(consumed)
            switch event {
            case .needMore: return .send([])
            case .interim: continue
            case .data(let range):
                skipped += range.count
                if skipped > Self.longestChallenge { return reconnect() }
            case .head(let head) where head.line.status.isSuccess:
                // TLS begins with a message of the client, so the proxy can send nothing yet.
                guard buffer.isEmpty else {
                    throw RequestError(
                        .protocolViolation, detail: "the proxy sent bytes after the head of its response")
                }
                _ = try continues(after: head)
                return .establish
            case .head(let head):
                guard try continues(after: head) else { throw refusal(head) }
                if !head.isReusable || head.framing == .untilClose { return reconnect() }
                stage = .challenge
            case .end:
                // Unsolicited bytes would be read as the next response.
                guard buffer.isEmpty else { return reconnect() }
                isReused = true
                return request()
            }
        }
    }

    mutating func loseConnection() throws(RequestError) -> Bool {
        // A proxy may close a connection after a challenge although it did not announce that.
        guard stage == .challenge || isReused && stage == .head && !reader.hasStarted else { return false }
        if case .signIn(var signIn) = credentials, stage == .head {
            // The proxy may have read the credentials, and accept them only once.
            try signIn.renew()
            credentials = .signIn(signIn)
        }
        _ = reconnect()
        return true
    }

    private mutating func request() -> TunnelStep {
        stage = .head
        skipped = 0
        reader = ResponseReader(answering: .connect, limits: limits)
        let value: String? =
            switch credentials {
            case .none: nil
            case .fixed(let value): value
            case .signIn(let signIn): signIn.fieldValue
            }
        let field = value.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
        return .send(Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(field)\r\n".utf8))
    }

    private mutating func reconnect() -> TunnelStep {
        stage = .beginning
        buffer = []
        isReused = false
        return .reconnect
    }

    /// Returns whether the request is sent again after this response.
    private mutating func continues(after received: ReceivedResponse) throws(RequestError) -> Bool {
        guard case .signIn(var signIn) = credentials else { return false }
        let head = head(of: received)
        do throws(RequestError) {
            let continues = try signIn.continues(after: head)
            credentials = .signIn(signIn)
            return continues
        } catch {
            throw error.adding(response: head)
        }
    }

    private mutating func read() throws(RequestError) -> (consumed: Int, event: ResponseReader.Event) {
        let bytes = buffer
        do throws(WireError) {
            return try reader.next(in: bytes.span)
        } catch {
            throw RequestError(error)
        }
    }

    private func head(of received: ReceivedResponse) -> ResponseHead {
        ResponseHead(status: received.line.status, header: received.header, target: target)
    }

    private func refusal(_ received: ReceivedResponse) -> RequestError {
        let status = received.line.status
        let advice =
            switch (status, credentials) {
            case (.proxyAuthenticationRequired, .none): "; set the authorization of the proxy"
            case (.proxyAuthenticationRequired, _): "; check the authorization of the proxy"
            default: ""
            }
        let error = RequestError(.proxyRefused, detail: "\(status)\(advice)", response: head(of: received))
        // A gateway that fails may work the next time.
        return (400..<500).contains(status.code) && ![408, 429].contains(status.code) ? error.permanent() : error
    }
}

extension TargetURI {
    /// The host and the port, as the target of a CONNECT request (RFC 9112 §3.2.3).
    var tunnelAuthority: String { "\(host):\(effectivePort ?? 443)" }
}

// MARK: SOCKS

/// A CONNECT command of SOCKS 5 (RFC 1928, RFC 1929), in which the proxy resolves the name of the host.
struct SOCKSDialogue: TunnelDialogue {
    private enum Stage {
        case greeting, method, authentication, reply
    }

    private let address: [UInt8]
    private let credentials: (username: [UInt8], password: [UInt8])?
    private var stage = Stage.greeting
    private var buffer: [UInt8] = []

    /// Returns nil if the host name of `target`, the username or the password is empty or longer than 255 bytes.
    init?(to target: TargetURI, credentials: (username: [UInt8], password: [UInt8])?) {
        guard let address = Self.address(of: target) else { return nil }
        self.address = address
        self.credentials = credentials
        if let parts = credentials {
            guard (1...255).contains(parts.username.count), (1...255).contains(parts.password.count) else { return nil }
        }
    }

    /// Returns the type, the address and the port of a host (RFC 1928 §5).
    private static func address(of target: TargetURI) -> [UInt8]? {
        let port = UInt16(clamping: target.effectivePort ?? 80)
        let host: [UInt8]
        if let octets = IPAddressText.octets(target.host) {
            host = [octets.count == 4 ? 1 : 4] + octets
        } else {
            guard (1...255).contains(target.host.utf8.count) else { return nil }
            host = [3, UInt8(target.host.utf8.count)] + Array(target.host.utf8)
        }
        return host + [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
    }

    mutating func next(_ received: [UInt8]) throws(RequestError) -> TunnelStep {
        buffer += received
        switch stage {
        case .greeting:
            stage = .method
            return .send(credentials == nil ? [5, 1, 0] : [5, 2, 0, 2])
        case .method:
            guard let reply = try take(2, version: 5) else { return .send([]) }
            switch reply[1] {
            case 0: return command()
            case 2:
                guard let credentials else { throw violation("it selected a method that was not offered") }
                stage = .authentication
                return .send(
                    [1, UInt8(credentials.username.count)] + credentials.username
                        + [UInt8(credentials.password.count)] + credentials.password)
            default:
                let advice = credentials == nil ? "; set the authorization of the proxy" : ""
                throw RequestError(.proxyRefused, detail: "no acceptable authentication method\(advice)").permanent()
            }
        case .authentication:
            guard let reply = try take(2, version: 1) else { return .send([]) }
            guard reply[1] == 0 else { throw RequestError(.proxyRefused, detail: "invalid credentials").permanent() }
            return command()
        case .reply: return try readReply() ? .establish : .send([])
        }
    }

    private mutating func command() -> TunnelStep {
        stage = .reply
        return .send([5, 1, 0] + address)
    }

    /// Returns the first `count` bytes of a reply, which must begin with `version`; nil if they have not arrived.
    private mutating func take(_ count: Int, version: UInt8) throws(RequestError) -> [UInt8]? {
        if let first = buffer.first, first != version { throw violation("its reply has version \(first)") }
        guard buffer.count >= count else { return nil }
        let reply = Array(buffer.prefix(count))
        buffer.removeFirst(count)
        return reply
    }

    /// Returns whether the reply to the command has arrived.
    private mutating func readReply() throws(RequestError) -> Bool {
        if let first = buffer.first, first != 5 { throw violation("its reply has version \(first)") }
        guard buffer.count >= 5 else { return false }
        guard buffer[1] == 0 else { throw Self.refusal(buffer[1]) }
        let length: Int
        switch buffer[3] {
        case 1: length = 10
        case 3: length = 7 + Int(buffer[4])
        case 4: length = 22
        default: throw violation("its reply has address type \(buffer[3])")
        }
        if buffer.count < length { return false }
        // The client sends first, so the proxy can send nothing yet.
        guard buffer.count == length else { throw violation("it sent bytes after its reply") }
        return true
    }

    private func violation(_ problem: String) -> RequestError {
        RequestError(.protocolViolation, detail: "the SOCKS proxy violated RFC 1928: \(problem)")
    }

    /// Returns the error of a reply (RFC 1928 §6).
    private static func refusal(_ code: UInt8) -> RequestError {
        let (reason, isPermanent): (String, Bool) =
            switch code {
            case 1: ("general failure", false)
            case 2: ("not allowed by its rules", true)
            case 3: ("network unreachable", false)
            case 4: ("host unreachable", false)
            case 5: ("connection refused", false)
            case 6: ("expired time to live", false)
            case 7: ("unsupported command", true)
            case 8: ("unsupported address type", true)
            default: ("reply \(code)", false)
            }
        let error = RequestError(.proxyRefused, detail: reason)
        return isPermanent ? error.permanent() : error
    }
}
