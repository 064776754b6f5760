extension TargetURI {
    /// Returns the target of a reference that is resolved against this target (RFC 3986 §5.2).
    ///
    /// A reference without a fragment inherits this target's fragment, as in redirects (RFC 9110 §10.2.2). A reference
    /// of another scheme without an authority, such as `mailto:` or `javascript:`, results in a target with that scheme
    /// and an empty host.
    ///
    /// - Parameter reference: The URI reference.
    /// - Returns: The target.
    /// - Throws: ``RequestError/InvalidRequest``, for the same reasons as ``init(_:)``.
    public func resolving(_ reference: String) throws(RequestError.InvalidRequest) -> TargetURI {
        let bytes = Array(reference.utf8)[...]
        if let scheme = Self.scheme(of: bytes) {
            return try Self.absolute(URIReference(bytes.dropFirst(scheme.utf8.count + 1)), scheme: scheme)
                .normalized(inheriting: fragment)
        }
        var parts = URIReference(bytes)
        if let authority = parts.authority {
            return try TargetURI(scheme: scheme, authority: authority, parts: parts).normalized(inheriting: fragment)
        }
        if parts.path.isEmpty {
            parts.query = parts.query ?? query.map { Array($0.utf8)[...] }
            parts.path = Array(path.utf8)[...]
        } else if parts.path.first != UInt8(ascii: "/") {
            let own = Array(path.utf8)
            parts.path = own[...(own.lastIndex(of: UInt8(ascii: "/")) ?? 0)] + parts.path
        }
        return try replacing(
            path: Self.encoded(parts.path, with: .path), query: Self.encoded(parts.query),
            fragment: Self.encoded(parts.fragment)
        ).normalized(inheriting: fragment)
    }

    /// Returns the target of an absolute reference.
    private static func absolute(
        _ parts: URIReference, scheme: String
    ) throws(RequestError.InvalidRequest) -> TargetURI {
        let isHTTP = scheme == "http" || scheme == "https"
        guard let authority = parts.authority, isHTTP || !authority.isEmpty else {
            guard !isHTTP else { throw .malformedURL }
            return TargetURI(
                scheme: scheme, userinfo: nil, host: "", zone: nil, port: nil, path: "/", query: nil, fragment: nil)
        }
        return try TargetURI(scheme: scheme, authority: authority, parts: parts)
    }

    /// Returns this target without dot segments, and with `inherited` as its fragment if it has none.
    private func normalized(inheriting inherited: String?) -> TargetURI {
        replacing(path: Self.removingDotSegments(from: path), query: query, fragment: fragment ?? inherited)
    }

    /// Returns `path` with `.` and `..` resolved (RFC 3986 §5.2.4).
    static func removingDotSegments(from path: String) -> String {
        guard path.mayContainDotSegments else { return path }
        var output: [Substring] = []
        let segments = path.splitBytes(at: "/", omittingEmptySubsequences: false).dropFirst()
        for (offset, segment) in segments.enumerated() {
            let dots = Self.dots(in: segment.utf8)
            if dots == 2 { _ = output.popLast() }
            if dots == nil {
                output.append(segment)
            } else if offset == segments.count - 1 {
                output.append("")
            }
        }
        return "/" + output.joined(separator: "/")
    }

    /// Returns the number of dots of `.` or `..`, or nil for other segments; `%2E` counts as a dot (RFC 3986 §6.2.2.2).
    private static func dots(in segment: Substring.UTF8View) -> Int? {
        var remainder = segment
        var count = 0
        while let first = remainder.first, count < 3 {
            if first == UInt8(ascii: ".") {
                remainder.removeFirst()
            } else if remainder.starts(with: "%2E".utf8) || remainder.starts(with: "%2e".utf8) {
                remainder.removeFirst(3)
            } else {
                return nil
            }
            count += 1
        }
        return (1...2).contains(count) && remainder.isEmpty ? count : nil
    }
}

extension String {
    /// Whether a dot or a percent sign follows a slash: a fast check, true for every path with dot segments.
    fileprivate var mayContainDotSegments: Bool {
        var previous: UInt8 = 0
        for byte in utf8 {
            if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            previous = byte
        }
        return false
    }
}
