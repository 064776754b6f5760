package import Requests

/// The HTTP version of a message (RFC 9110 §2.5), written as `HTTP/` and two digits.
package struct HTTPVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The major version; 1 in every message that the readers accept.
    package let major: UInt8
    package let minor: UInt8

    package init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    /// HTTP/1.0 (RFC 1945).
    package static let http10 = HTTPVersion(major: 1, minor: 0)
    /// HTTP/1.1 (RFC 9112).
    package static let http11 = HTTPVersion(major: 1, minor: 1)

    package static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    package var description: String {
        // A literal takes less time than interpolation, and nearly every response has this version.
        self == .http11 ? "HTTP/1.1" : "HTTP/\(major).\(minor)"
    }
}

/// The status line, the first line of a response (RFC 9112 §4).
package struct StatusLine: Sendable {
    /// The sender's version; 1.2 to 1.9 are treated as 1.1.
    package var version: HTTPVersion
    /// The status code, 100 to 999; clients treat one above 599 as a 5xx (RFC 9110 §15).
    package var status: HTTPStatus
    /// The reason phrase as received; empty if the line has none.
    package var reason: String

    package init(version: HTTPVersion = .http11, status: HTTPStatus, reason: String) {
        self.version = version
        self.status = status
        self.reason = reason
    }
}

extension StatusLine: Hashable {
    /// Returns whether all parts are equal; reason phrases are compared octet by octet.
    package static func == (left: Self, right: Self) -> Bool {
        left.status == right.status && left.version == right.version && left.reason.hasSameBytes(as: right.reason)
    }

    /// Hashes the status only, which distinguishes most lines.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(status)
    }
}

/// The request line, the first line of a request (RFC 9112 §3).
package struct RequestLine: Hashable, Sendable {
    /// The method, a token.
    package var method: HTTPMethod
    /// The target as received: ASCII, in a form of RFC 9112 §3.2 that the method allows.
    package var target: String
    package var version: HTTPVersion

    package init(method: HTTPMethod, target: String, version: HTTPVersion = .http11) {
        self.method = method
        self.target = target
        self.version = version
    }
}

/// The head of a final response and the framing that it declares.
package struct ReceivedResponse: Hashable, Sendable {
    package var line: StatusLine
    /// The fields in their order, with repetitions and spelling preserved.
    package var header: Header
    package var framing: BodyFraming
    /// Whether the connection can carry another message after this one has been read completely.
    package var isReusable: Bool
    /// The peer's `Keep-Alive` parameters for the idle connection; nil if the field is absent.
    package var keepAlive: KeepAlive?
}

/// The head of a request and the framing that it declares.
package struct ReceivedRequest: Hashable, Sendable {
    package var line: RequestLine
    /// The fields in their order, with repetitions and spelling preserved.
    package var header: Header
    /// The framing, which determines where the body ends; never ``BodyFraming/untilClose``.
    package var framing: BodyFraming
    /// Whether the connection can carry another message after this one has been read completely.
    package var isReusable: Bool

    package init(line: RequestLine, header: Header, framing: BodyFraming, isReusable: Bool) {
        self.line = line
        self.header = header
        self.framing = framing
        self.isReusable = isReusable
    }

    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 §10.1.1).
    package var expectsContinue: Bool {
        line.version >= .http11 && framing != .none && header.listContains("100-continue", in: .expect)
    }
}
