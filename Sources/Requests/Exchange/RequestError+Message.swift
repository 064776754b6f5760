extension RequestError {
    /// A message of the server: the code and the text that many APIs put into the body of an error.
    ///
    /// They are looked up in the object `error`, in the first of the array `errors`, in `detail`, and in the body
    /// itself, in this order. The text is the first of the members `message`, `error_message`, `error_description`,
    /// `msg`, `detail` and `title` that is a text, and the code the first of `code`, `error_code`, `__type`,
    /// `errorType` and `type`. Numbers are converted to text.
    ///
    /// If `error`, or the first of `errors`, is a string itself, it is the text; if there is another text, as in OAuth
    /// (RFC 6749 §5.2), it is the code. Members of problem details (RFC 9457) are read in the same way.
    public struct Message: Hashable, Sendable {
        /// The code; nil if there is none.
        public var code: String?

        /// The text of the message; nil if there is none.
        public var text: String?

        /// Creates a message from the members of `json`; nil if there is neither a code nor a text.
        public init?(_ json: JSONValue) {
            let objects = [json["error"], json["errors", 0], json["detail"], json["detail", 0], json]
            func first(_ names: [String]) -> String? {
                for case let members? in objects.lazy.map({ $0?.object }) {
                    for name in names {
                        if let text = members[name]?.text, !text.isEmpty { return text }
                    }
                }
                return nil
            }
            text = first(["message", "Message", "error_message", "error_description", "msg", "detail", "title"])
            code = first(["code", "error_code", "__type", "errorType", "type"])
            if let string = json["error"]?.string ?? json["errors", 0]?.string, !string.isEmpty {
                if text == nil {
                    text = string
                } else {
                    code = code ?? string
                }
            }
            if code == nil, text == nil { return nil }
        }

        /// Creates a message from a text; nil if it is empty or white space.
        init?(text: String) {
            let bytes = text.utf8.drop(while: \.isJSONWhitespace)
            guard let last = bytes.lastIndex(where: { !$0.isJSONWhitespace }) else { return nil }
            self.text = String(Substring(bytes[...last]))
        }
    }

    /// The maximum length in bytes of a body whose message is included in a description.
    ///
    /// A body of any length would be read again for each line of a log.
    private static let describedBody = 64 << 10

    /// Returns the server's message in a response whose status was rejected, without secrets; nil if there is none.
    func serverMessage(redactedBy redaction: ExchangeRedaction) -> String? {
        guard reason == .unacceptableStatus, !redaction.hidesBodies, let body, body.count <= Self.describedBody,
            let message = message(in: Data(redaction.body(Array(body), response?.header ?? .empty)))
        else { return nil }
        // Redacted before they are cut, because part of a secret would not be found.
        let text = message.text.map { ErrorText.quoted(redaction.text($0), limit: 2 * ErrorText.peerTextLimit) }
        let code = message.code.map { Self.shortened(redaction.text($0)) }
        guard let text else { return code.map { "code \($0)" } }
        return code.map { "\(text) (\($0))" } ?? text
    }
}
