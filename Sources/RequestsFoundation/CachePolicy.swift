extension NSURLRequest.CachePolicy {
    /// Foundation's name for `policy`.
    public init(_ policy: RequestCachePolicy) {
        self =
            switch policy {
            case .useProtocolCachePolicy: .useProtocolCachePolicy
            case .reloadIgnoringLocalCacheData: .reloadIgnoringLocalCacheData
            case .returnCacheDataElseLoad: .returnCacheDataElseLoad
            case .returnCacheDataDontLoad: .returnCacheDataDontLoad
            case .reloadRevalidatingCacheData: .reloadRevalidatingCacheData
            }
    }
}

extension RequestCachePolicy {
    /// This library's name for `policy`; one that also forbids remote caches reads as one that forbids the local one.
    public init(_ policy: NSURLRequest.CachePolicy) {
        self =
            switch policy {
            case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringLocalCacheData
            case .returnCacheDataElseLoad: .returnCacheDataElseLoad
            case .returnCacheDataDontLoad: .returnCacheDataDontLoad
            case .reloadRevalidatingCacheData: .reloadRevalidatingCacheData
            default: .useProtocolCachePolicy
            }
    }
}
