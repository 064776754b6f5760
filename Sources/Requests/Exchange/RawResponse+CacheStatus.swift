extension RawResponse.Metrics {
    /// The status of a request in a cache (RFC 9211).
    public struct CacheStatus: Hashable, Sendable {
        /// The reason why a cache forwarded a request (RFC 9211 §2.2).
        @nonexhaustive
        public enum ForwardReason: String, Hashable, Sendable {
            /// The cache does not handle such requests.
            case bypass
            /// The method requires that the request is forwarded.
            case method
            /// There was no stored response for the URI.
            case uriMiss = "uri-miss"
            /// The stored responses for the URI belong to requests with other fields.
            case varyMiss = "vary-miss"
            /// The stored response was fresh, but the request did not permit its use.
            case request
            /// The stored response was stale, or requires validation before each use.
            case stale
        }

        // In this order, because each response contains a status, which is then 8 bytes.
        /// The lifetime; the smallest number means that it is unknown.
        private var seconds = Int32.min
        /// The status code; 0 if there is none.
        private var statusCode: Int16 = 0

        /// The reason for forwarding the request; nil if a stored response was used without validation.
        public var forwardReason: ForwardReason?

        private var flags: Flags = []

        private struct Flags: OptionSet, Hashable {
            let rawValue: UInt8
            static let stored = Flags(rawValue: 1)
            static let collapsed = Flags(rawValue: 2)
        }

        /// The status of the forwarded request's response, such as 304 if it confirmed the stored response; nil if no
        /// response arrived.
        ///
        /// A code outside 1 to 32,767 is stored as the nearest one of these.
        public var forwardedStatus: HTTPStatus? {
            get { statusCode == 0 ? nil : HTTPStatus(Int(statusCode)) }
            set { statusCode = newValue.map { max(1, Int16(clamping: $0.code)) } ?? 0 }
        }

        /// The remaining freshness lifetime in seconds, negative for a stale response; nil if it is unknown.
        ///
        /// A number outside −2,147,483,647 to 2,147,483,647 is stored as the nearest one of these.
        public var timeToLive: Int? {
            get { seconds == .min ? nil : Int(seconds) }
            set { seconds = newValue.map { max(-.max, Int32(clamping: $0)) } ?? .min }
        }

        /// Whether the response was stored.
        ///
        /// For a streamed body: whether it will be stored once it has been read to its end.
        public var isStored: Bool {
            get { flags.contains(.stored) }
            set { if newValue { flags.insert(.stored) } else { flags.remove(.stored) } }
        }

        /// Whether the request was not sent because an identical request was in progress.
        public var isCollapsed: Bool {
            get { flags.contains(.collapsed) }
            set { if newValue { flags.insert(.collapsed) } else { flags.remove(.collapsed) } }
        }

        /// Creates a status.
        ///
        /// - Parameters:
        ///   - forwardReason: The reason for forwarding the request; nil for a response from the cache.
        ///   - forwardedStatus: The status of the forwarded request's response; nil if none arrived.
        package init(forwardReason: ForwardReason? = nil, forwardedStatus: HTTPStatus? = nil) {
            self.forwardReason = forwardReason
            self.forwardedStatus = forwardedStatus
        }

        /// Whether a stored response was used without validation.
        public var isHit: Bool { forwardReason == nil }
    }
}

extension RawResponse.Metrics.CacheStatus: CustomStringConvertible {
    /// The status as a member of a Cache-Status field, such as `Requests; hit; ttl=60` (RFC 9211 §2).
    public var description: String {
        var text = "Requests"
        if let forwardReason {
            text += "; fwd=\(forwardReason.rawValue)"
            if let forwardedStatus { text += "; fwd-status=\(forwardedStatus.code)" }
        } else {
            text += "; hit"
        }
        if let timeToLive { text += "; ttl=\(timeToLive)" }
        if isStored { text += "; stored" }
        if isCollapsed { text += "; collapsed" }
        return text
    }
}
