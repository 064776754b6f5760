extension TargetURI {
    /// Returns the decoded user name and password of a URL's userinfo, which the first colon separates (RFC 3986
    /// §3.2.1).
    static func credentials(ofUserinfo userinfo: String) -> (username: String, password: String) {
        let parts = userinfo.splitBytes(at: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map(PercentEncoding.decode)
        return (parts[0], parts.count > 1 ? parts[1] : "")
    }
}
