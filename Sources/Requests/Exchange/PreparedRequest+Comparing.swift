extension PreparedRequest: Equatable {
    /// Returns whether both requests are sent in the same way and their responses are handled in the same way.
    ///
    /// Functions and instants are not compared, nor are attributes, except for the continue timeout and the trailers.
    /// Streamed bodies are never equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.method == right.method && left.target == right.target && left.header == right.header
            && left.delivery == right.delivery && left.timeouts == right.timeouts
            && left.redirectPolicy == right.redirectPolicy && left.acceptedTypes == right.acceptedTypes
            && left.cachePolicy == right.cachePolicy && left.body.isEqual(to: right.body)
            && left.hasSameOptions(as: right)
    }
}

extension RequestBody {
    fileprivate func isEqual(to other: RequestBody) -> Bool {
        switch (self, other) {
        case (.none, .none): true
        case (.bytes(let left), .bytes(let right)): left == right
        case (.file(let left, let leftRange), .file(let right, let rightRange)):
            // File names are bytes, not text (decision 0023).
            left.hasSameBytes(as: right) && leftRange == rightRange
        default: false
        }
    }
}

extension PreparedRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the URL, with secrets redacted.
    public var description: String { "\(method) \(ExchangeRedaction(self).url(target))" }

    /// The wire text, with secrets redacted.
    public var debugDescription: String { wireText }

    /// The mirror that `dump` prints: the redacted wire text.
    public var customMirror: Mirror { Mirror(self, children: ["wire": wireText]) }
}
