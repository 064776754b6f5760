/// The kinds of request fields that matter to a cache, found in one pass over the header.
struct CacheFields: OptionSet, Sendable {
    let rawValue: UInt8

    /// Cache-Control or Pragma.
    static let directives = CacheFields(rawValue: 1)
    /// If-None-Match or If-Modified-Since.
    static let precondition = CacheFields(rawValue: 2)
    /// Range.
    static let range = CacheFields(rawValue: 4)
    /// If-Match, If-Unmodified-Since or If-Range, with which the cache does not respond.
    static let unsupported = CacheFields(rawValue: 8)
    /// Secret fields or userinfo.
    static let credentials = CacheFields(rawValue: 16)

    init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    init(_ request: PreparedRequest) {
        self = request.hasCredentials ? .credentials : []
        guard request.hasFields else { return }
        for field in request.header {
            switch field.name {
            case .range: insert(.range)
            case .cacheControl, "Pragma": insert(.directives)
            case .ifNoneMatch, .ifModifiedSince: insert(.precondition)
            case .ifMatch, .ifRange, .ifUnmodifiedSince: insert(.unsupported)
            default: break
            }
        }
    }
}
