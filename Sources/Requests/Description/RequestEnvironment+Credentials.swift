extension RequestEnvironment {
    /// Returns whether credentials for this environment may be sent to `target`: the origin is the same, and the path
    /// is the base path or below it, without a dot segment that could leave it on any server.
    package func covers(_ target: TargetURI) -> Bool {
        guard target.hasSameOrigin(as: self.target) else { return false }
        var path = target.path  // a variable, because `withUTF8` may make it contiguous
        let prefix = self.target.path.utf8
        // The root is the prefix of every path.
        guard prefix.count == 1 || path.utf8.starts(with: prefix) || path.utf8.elementsEqual(prefix.dropLast()) else {
            return false
        }
        // Nearly every path has neither a dot nor an escape.
        let hasDotOrEscape = path.withUTF8 { $0.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") } }
        guard hasDotOrEscape else { return true }
        // Some servers take an encoded slash or a backslash for a slash, and drop what follows a semicolon.
        return !PercentEncoding.decode(target.path).utf8.split { byte in
            "/\\;".utf8.contains(byte)
        }.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
    }
}
