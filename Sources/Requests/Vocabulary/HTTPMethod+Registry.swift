extension HTTPMethod {
    /// A property of a method.
    enum Property {
        /// The method is safe, and therefore idempotent too (RFC 9110 §9.2.1, §9.2.2).
        case safe
        /// The method is idempotent, and not safe.
        case idempotent
        /// The method is neither safe nor idempotent, or not registered.
        case none
    }

    /// The property of the method in the IANA HTTP Method Registry (RFC 9110 §16.1.1), as of November 2026.
    ///
    /// All decisions that depend on what a method may change use this table: retries, hedging, lost connections, the
    /// connections of URLSession on Linux, invalidation of caches, and the strictness of mocks.
    var registeredProperty: Property {
        // The patterns are methods, so they are compared byte by byte.
        switch self {
        // The first rows are the frequent ones.
        case "GET", "HEAD", "OPTIONS", "TRACE": .safe
        case "POST", "PATCH": .none
        case "PUT", "DELETE": .idempotent
        // RFC 4918, RFC 3253, RFC 5323, RFC 10008, RFC 9113
        case "PROPFIND", "REPORT", "SEARCH", "QUERY", "PRI": .safe
        // RFC 4918; LOCK creates a new lock each time.
        case "PROPPATCH", "MKCOL", "COPY", "MOVE", "UNLOCK": .idempotent
        // RFC 3253
        case "BASELINE-CONTROL", "CHECKIN", "CHECKOUT", "LABEL", "MERGE", "MKACTIVITY", "MKWORKSPACE", "UNCHECKOUT",
            "UPDATE", "VERSION-CONTROL":
            .idempotent
        // RFC 3648, RFC 3744, RFC 4437, RFC 4791, RFC 5842, RFC 2068
        case "ORDERPATCH", "ACL", "MKREDIRECTREF", "UPDATEREDIRECTREF", "MKCALENDAR", "BIND", "REBIND", "UNBIND",
            "LINK", "UNLINK":
            .idempotent
        default: .none
        }
    }
}
