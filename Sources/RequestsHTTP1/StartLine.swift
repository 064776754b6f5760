package import Requests

/// The version of a message (RFC 9110 §2.5): `HTTP/` and two digits.
package struct HTTPVersion: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The digit before the point; 1 in every message that is read.
    package let major: UInt8
    /// The digit after the point.
    package let minor: UInt8

    /// The version `major.minor`.
    package init(major: UInt8, minor: UInt8) {
        self.major = major
        self.minor = minor
    }

    /// HTTP/1.0 (RFC 1945).
    package static let http10 = HTTPVersion(major: 1, minor: 0)
    /// HTTP/1.1 (RFC 9112).
    package static let http11 = HTTPVersion(major: 1, minor: 1)

    /// The order of the versions.
    package static func < (left: Self, right: Self) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }

    /// The version as it is written, as in `HTTP/1.1`.
    package var description: String { "HTTP/\(major).\(minor)" }
}

/// The first line of a response (RFC 9112 §4).
package struct StatusLine: Hashable, Sendable {
    /// The version of the sender; 1.2 to 1.9 are read as 1.1 is.
    package var version: HTTPVersion
    /// The status, 100 to 999: one above 599 is a client's to treat as a 5xx (RFC 9110 §15).
    package var status: HTTPStatus
    /// The reason phrase as received, empty when there was none.
    package var reason: String

    /// A status-line of the parts named.
    package init(version: HTTPVersion = .http11, status: HTTPStatus, reason: String) {
        self.version = version
        self.status = status
        self.reason = reason
    }

    /// Whether the parts are the same, the reason byte for byte.
    package static func == (left: Self, right: Self) -> Bool {
        left.version == right.version && left.status == right.status && left.reason.hasSameBytes(as: right.reason)
    }
}

/// The first line of a request (RFC 9112 §3).
package struct RequestLine: Hashable, Sendable {
    /// The method, a token.
    package var method: HTTPMethod
    /// The target as received: visible ASCII without white space, whatever its form (RFC 9112 §3.2).
    package var target: String
    /// The version of the sender.
    package var version: HTTPVersion

    /// A request-line of the parts named.
    package init(method: HTTPMethod, target: String, version: HTTPVersion = .http11) {
        self.method = method
        self.target = target
        self.version = version
    }
}

/// The head of a final response, and what it says about the bytes that follow.
package struct ReceivedResponse: Hashable, Sendable {
    /// The status-line.
    package var line: StatusLine
    /// The fields, in order, repetitions and spelling kept.
    package var header: Header
    /// Where the body ends.
    package var framing: BodyFraming
    /// Whether the connection may carry another message once this one has been read to its end.
    package var isReusable: Bool
    /// What the peer says about the connection while it is idle; nil when it says nothing.
    package var keepAlive: KeepAlive?
}

/// The head of a request, and what it says about the bytes that follow.
package struct ReceivedRequest: Hashable, Sendable {
    /// The request-line.
    package var line: RequestLine
    /// The fields, in order, repetitions and spelling kept.
    package var header: Header
    /// Where the body ends; never ``BodyFraming/untilClose``.
    package var framing: BodyFraming
    /// Whether the connection may carry another message once this one has been read to its end.
    package var isReusable: Bool

    /// Whether the client waits for 100 (Continue) before it sends the body (RFC 9110 §10.1.1).
    package var expectsContinue: Bool {
        line.version >= .http11 && framing != .none && header.listContains("100-continue", in: .expect)
    }
}
