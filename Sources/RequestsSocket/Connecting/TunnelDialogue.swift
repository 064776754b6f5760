import Requests
import RequestsHTTP1

/// The messages that request a tunnel from a proxy, as a value without a socket.
protocol TunnelDialogue: Sendable {
    /// Returns the bytes to send after `received`: empty if more have to be received first, nil when the tunnel exists.
    ///
    /// The first call has no bytes.
    ///
    /// - Throws: ``RequestError`` if the proxy refuses, or violates its protocol.
    mutating func next(_ received: [UInt8]) throws(RequestError) -> [UInt8]?
}

// MARK: HTTP

/// A CONNECT request (RFC 9110 §9.3.6).
///
/// The proxy receives no field of the request that uses the tunnel.
struct ConnectDialogue: TunnelDialogue {
    private let authority: String
    private let authorization: String?
    private let target: TargetURI
    private var reader: ResponseReader
    private var buffer: [UInt8] = []
    private var isSent = false

    /// Creates a request for a tunnel to the host and port of `target`.
    ///
    /// `authorization` is the value of Proxy-Authorization.
    init(to target: TargetURI, authorization: String?, _ limits: WireLimits) {
        authority = "\(target.host):\(target.effectivePort ?? 443)"
        self.authorization = authorization
        self.target = target
        reader = ResponseReader(answering: .connect, limits: limits)
    }

    mutating func next(_ received: [UInt8]) throws(RequestError) -> [UInt8]? {
        guard isSent else {
            isSent = true
            let field = authorization.map { "Proxy-Authorization: \($0)\r\n" } ?? ""
            return Array("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(field)\r\n".utf8)
        }
        buffer += received
        while true {
            let (consumed, event) = try read()
            buffer.removeFirst(consumed)
            switch event {
            case .needMore: return []
            case .interim, .data: continue
            case .head(let head) where head.line.status.isSuccess:
                // TLS begins with a message of the client, so that nothing can follow yet.
                guard buffer.isEmpty else {
                    throw RequestError(
                        .protocolViolation, detail: "the proxy sent bytes behind the head of its response")
                }
                return nil
            case .head(let head): throw refusal(head)
            case .end: throw RequestError(.protocolViolation, detail: "the proxy sent no response")
            }
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

    private func refusal(_ received: ReceivedResponse) -> RequestError {
        let status = received.line.status
        let head = ResponseHead(status: status, header: received.header, target: target)
        let advice = status == 407 ? "; set the authorization of the proxy" : ""
        let error = RequestError(.proxyRefused, detail: "\(status)\(advice)", response: head)
        // A gateway that fails may work the next time.
        return (400..<500).contains(status.code) && ![408, 429].contains(status.code) ? error.permanent() : error
    }
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

    /// Creates a command for the host and port of `target`; returns nil if its name has more than 255 bytes, or the
    /// username or the password is empty or has more.
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

    mutating func next(_ received: [UInt8]) throws(RequestError) -> [UInt8]? {
        buffer += received
        switch stage {
        case .greeting:
            stage = .method
            return credentials == nil ? [5, 1, 0] : [5, 2, 0, 2]
        case .method:
            guard let reply = try take(2, version: 5) else { return [] }
            switch reply[1] {
            case 0: return command()
            case 2:
                guard let credentials else { throw violation("it selected a method that was not offered") }
                stage = .authentication
                return [1, UInt8(credentials.username.count)] + credentials.username
                    + [UInt8(credentials.password.count)] + credentials.password
            default:
                let advice = credentials == nil ? "; set the authorization of the proxy" : ""
                throw RequestError(.proxyRefused, detail: "no acceptable authentication method\(advice)").permanent()
            }
        case .authentication:
            guard let reply = try take(2, version: 1) else { return [] }
            guard reply[1] == 0 else { throw RequestError(.proxyRefused, detail: "invalid credentials").permanent() }
            return command()
        case .reply: return try readReply() ? nil : []
        }
    }

    private mutating func command() -> [UInt8] {
        stage = .reply
        return [5, 1, 0] + address
    }

    /// Returns the first `count` bytes of a reply of `version`; nil if they have not arrived.
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
        // The client begins, so that nothing can follow yet.
        guard buffer.count == length else { throw violation("it sent bytes behind its reply") }
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
