import Requests

extension Observing {
    /// An attribute of a request: a name and a value, as in OpenTelemetry's semantic conventions for HTTP.
    public struct Attribute: Hashable, Sendable, CustomStringConvertible {
        /// The name, such as `http.request.method`.
        public var name: String

        /// The value.
        public var value: AttributeValue

        /// Creates an attribute with a text.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = .string(value)
        }

        /// Creates an attribute with an integer.
        public init(_ name: String, _ value: Int) {
            self.name = name
            self.value = .integer(value)
        }

        /// The name and the value, such as `server.port=443`.
        public var description: String { "\(name)=\(value)" }

        /// Returns whether both have the same name and the same value, byte by byte.
        public static func == (left: Self, right: Self) -> Bool {
            left.name.hasSameBytes(as: right.name) && left.value == right.value
        }

        /// Hashes the bytes of the name and the value.
        public func hash(into hasher: inout Hasher) {
            name.hashBytes(into: &hasher)
            hasher.combine(value)
        }
    }

    /// The value of an attribute.
    @nonexhaustive
    public enum AttributeValue: Sendable, CustomStringConvertible {
        /// A text.
        case string(String)
        /// An integer.
        case integer(Int)

        /// The text or the digits.
        public var description: String {
            switch self {
            case .string(let text): text
            case .integer(let number): "\(number)"
            }
        }
    }
}

extension Observing.AttributeValue: Hashable {
    /// Returns whether both are the same integer, or texts with the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.integer(let left), .integer(let right)): left == right
        case (.string, _), (.integer, _): false
        }
    }

    /// Hashes the bytes of a text, or an integer.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let text): text.hashBytes(into: &hasher)
        case .integer(let number): hasher.combine(number)
        }
    }
}

extension Observing {
    /// The rules for attributes that one observer applies to all its requests.
    public struct Semantics: Sendable {
        /// The methods that `http.request.method` names.
        ///
        /// Any other method is `_OTHER`, so that a caller that invents methods does not create unlimited time series.
        ///
        /// The default contains the methods of RFC 9110, PATCH and QUERY, as the conventions require.
        public var knownMethods: Set<HTTPMethod> = [
            .connect, .delete, .get, .head, .options, .patch, .post, .put, "QUERY", .trace,
        ]

        /// The names of the query items whose values `url.full` does not contain, in addition to the userinfo.
        ///
        /// The default contains the names of `Redaction.standard`, and `AWSAccessKeyId`, which the conventions require.
        public var redaction = Redaction(also: ["AWSAccessKeyId"])

        /// Creates the rules of OpenTelemetry.
        public init() {}
    }
}

extension Observing.Semantics {
    /// Returns the name of `method` as an attribute.
    private func name(of method: HTTPMethod) -> String { knownMethods.contains(method) ? method.rawValue : "_OTHER" }

    /// Returns the attributes of the metrics of `request` that are known at its beginning; they have few different
    /// values.
    func metricAttributes(of request: PreparedRequest) -> [Observing.Attribute] {
        let target = request.target
        var attributes = [
            Observing.Attribute("http.request.method", name(of: request.method)),
            Observing.Attribute("server.address", target.address),
        ]
        if let port = target.effectivePort { attributes.append(Observing.Attribute("server.port", port)) }
        attributes.append(Observing.Attribute("url.scheme", target.scheme))
        if let template = request.knownTemplate { attributes.append(Observing.Attribute("url.template", template)) }
        return attributes
    }

    /// Returns the attributes of the span of `request` that are known at its beginning.
    func spanAttributes(of request: PreparedRequest, resendCount: Int) -> [Observing.Attribute] {
        var attributes = metricAttributes(of: request)
        let url = ExchangeRedaction(request, redaction).url(request.target)
        // The conventions replace secrets with text that needs no escape in a URL.
        attributes.append(Observing.Attribute("url.full", Self.replacingPlaceholder(in: url)))
        if !knownMethods.contains(request.method) {
            attributes.append(Observing.Attribute("http.request.method_original", request.method.rawValue))
        }
        if resendCount > 0 { attributes.append(Observing.Attribute("http.request.resend_count", resendCount)) }
        return attributes
    }

    /// Returns the name of the span of `request`: its method, and its template if there is one.
    func spanName(of request: PreparedRequest) -> String {
        let method = knownMethods.contains(request.method) ? request.method.rawValue : "HTTP"
        return request.knownTemplate.map { "\(method) \($0)" } ?? method
    }

    func endAttributes(of report: Observing.Report) -> [Observing.Attribute] {
        var attributes: [Observing.Attribute] = []
        if let status = report.response?.status {
            attributes.append(Observing.Attribute("http.response.status_code", status.code))
        }
        if let error = report.errorType { attributes.append(Observing.Attribute("error.type", error)) }
        if let version = report.metrics?.protocolVersion {
            attributes.append(Observing.Attribute("network.protocol.version", version))
        }
        return attributes
    }

    private static func replacingPlaceholder(in url: String) -> String {
        // A valid URL contains no angle bracket, and most contain no secret.
        guard url.containsByte("<") else { return url }
        var bytes = Array(url.utf8)
        bytes.replace(Array(Redaction.placeholder.utf8), with: Array("REDACTED".utf8))
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Observing.Report {
    /// The value of `error.type`: the name of the error's reason, or a status of 400 or higher; nil for success and for
    /// a body that the caller released.
    public var errorType: String? {
        if let error { return error.reason.typeName }
        guard let status = response?.status, status.code >= 400 else { return nil }
        return "\(status.code)"
    }
}

extension TargetURI {
    /// The host as an attribute: an IPv6 address without its brackets.
    var address: String {
        host.utf8.first == UInt8(ascii: "[") ? String(host.droppingFirstBytes(1).droppingLastBytes(1)) : host
    }
}

extension RawResponse.Metrics {
    /// The version of HTTP; nil if it is unknown, as over URLSession.
    fileprivate var protocolVersion: String? {
        switch (httpVersion, tls?.applicationProtocol) {
        case (.http10, _): "1.0"
        case (.http11, _), (nil, "http/1.1"): "1.1"
        case (.http2, _), (nil, "h2"): "2"
        default: nil
        }
    }
}

extension RequestError.Reason {
    /// The name of the reason without its payload, so that there are few different names.
    fileprivate var typeName: String {
        switch self {
        case .invalidRequest: "invalid_request"
        case .bodyEncodingFailed: "body_encoding_failed"
        case .fileAccessFailed: "file_access_failed"
        case .bodyNotReplayable: "body_not_replayable"
        case .credentialsUnavailable: "credentials_unavailable"
        case .unsupportedScheme: "unsupported_scheme"
        case .executorClosed: "executor_closed"
        case .hostNotFound: "host_not_found"
        case .connectionFailed: "connection_failed"
        case .proxyRefused: "proxy_refused"
        case .tlsUnavailable: "tls_unavailable"
        case .certificateRefused: "certificate_refused"
        case .tlsFailed: "tls_failed"
        case .connectionLost: "connection_lost"
        case .protocolViolation: "protocol_violation"
        case .tooLarge: "too_large"
        case .unacceptableStatus: "unacceptable_status"
        case .notModified: "not_modified"
        case .unexpectedRedirect: "unexpected_redirect"
        case .unexpectedContentType: "unexpected_content_type"
        case .unexpectedNoContent: "unexpected_no_content"
        case .decodingFailed: "decoding_failed"
        case .timedOut: "timeout"
        case .cancelled: "cancelled"
        case .other: "_OTHER"
        }
    }
}
