extension RequestEnvironment {
    /// The position of a target relative to the base URL.
    package enum Position {
        /// The target is at or below the base URL.
        case inside
        /// The target is at another origin, or at a path that is not below the base path.
        case outside
        /// The path begins with the base path, but has a dot segment that some servers resolve to a path outside it.
        case ambiguous
    }

    /// Returns whether credentials for this environment may be sent to `target`: only if it is inside.
    package func covers(_ target: TargetURI) -> Bool { position(of: target) == .inside }

    /// Returns the position of `target`; at the root of a server, all paths are inside.
    package func position(of target: TargetURI) -> Position {
        guard target.hasSameOrigin(as: self.target) else { return .outside }
        let prefix = self.target.path.utf8
        // No dot segment leaves the root.
        guard prefix.count > 1 else { return .inside }
        var path = target.path  // a variable, because `withUTF8` may make it contiguous
        guard path.utf8.starts(with: prefix) || path.utf8.elementsEqual(prefix.dropLast()) else { return .outside }
        // Nearly every path has neither a dot nor an escape.
        let hasDotOrEscape = path.withUTF8 { $0.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "%") } }
        guard hasDotOrEscape else { return .inside }
        // Decoded once (RFC 3986 §2.4): `%252e` is the text `%2e`, not a dot.
        return PercentEncoding.hasDotSegment(target.path) ? .ambiguous : .inside
    }
}

extension PercentEncoding {
    /// Returns whether a percent-encoded path has a segment that any server could read as `.` or `..`.
    ///
    /// Some servers treat an encoded slash or a backslash as a slash, and ignore the text after a semicolon.
    package static func hasDotSegment(_ path: String) -> Bool {
        decode(path).utf8.split { "/\\;".utf8.contains($0) }.contains {
            $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8)
        }
    }
}
