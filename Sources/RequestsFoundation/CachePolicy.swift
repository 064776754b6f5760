extension NSURLRequest.CachePolicy {
    /// Creates Foundation's value for `policy`.
    public init(_ policy: PreparedRequest.CachePolicy) {
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

extension PreparedRequest.CachePolicy {
    /// Creates the value for Foundation's `policy`.
    ///
    /// `.reloadIgnoringLocalAndRemoteCacheData` becomes `.reloadIgnoringLocalCacheData`; unknown values become
    /// `.useProtocolCachePolicy`.
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
