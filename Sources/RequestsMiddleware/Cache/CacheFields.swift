/// The kinds of fields of a request that matter to a cache, found in one pass over the header.
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
            let name = field.name
            // The lengths of the names exclude most fields, as for requests (`belongsToExecutor`).
            switch name.rawValue.utf8.count {
            case 5 where name == .range: insert(.range)
            case 6 where name == "Pragma": insert(.directives)
            case 8 where name == .ifMatch || name == .ifRange: insert(.unsupported)
            case 13 where name == .cacheControl: insert(.directives)
            case 13 where name == .ifNoneMatch: insert(.precondition)
            case 17 where name == .ifModifiedSince: insert(.precondition)
            case 19 where name == .ifUnmodifiedSince: insert(.unsupported)
            default: break
            }
        }
    }
}
