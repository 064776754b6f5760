extension PreparedRequest {
    /// The method, the target and the header of a request as it was sent.
    ///
    /// Its descriptions do not contain secrets.
    public struct Head: Hashable, Sendable {
        /// The request method.
        public let method: HTTPMethod

        /// The target of the request.
        public let target: TargetURI

        /// The fields, including those that middleware has added, without the fields that the executor sets.
        public let header: Header

        /// The names of fields that are secret in this request only.
        private let secretNames: Set<Field.Name>

        init(_ request: PreparedRequest) {
            method = request.method
            target = request.target
            header = request.header
            secretNames = request.redirectPolicy.sensitiveFields
        }
    }
}

extension PreparedRequest.Head: CustomStringConvertible, CustomReflectable {
    /// The method, the URL and the header, with secrets redacted.
    public var description: String { "\(method) \(redaction.url(target))\(lines.map { "\n\($0)" }.joined())" }

    /// The mirror that `dump` prints: the parts of the description.
    public var customMirror: Mirror {
        Mirror(self, children: ["method": "\(method)", "url": redaction.url(target), "header": lines])
    }

    private var redaction: ExchangeRedaction {
        var request = PreparedRequest(method: method, target: target, header: header)
        request.redirectPolicy.sensitiveFields = secretNames
        return ExchangeRedaction(request)
    }

    private var lines: [String] {
        let redaction = redaction
        return header.map { "\($0.name): \(redaction.value(of: $0))" }
    }
}
