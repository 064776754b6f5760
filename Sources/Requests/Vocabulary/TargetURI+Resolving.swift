extension TargetURI {
    /// The target that `reference` means when it is found here (RFC 3986 §5.2); a missing fragment is inherited.
    ///
    /// - Throws: `InvalidRequest` as ``init(_:)`` does. A reference of another scheme without an authority, such as
    ///   `mailto:` or `javascript:`, gives a target of that scheme and an empty host.
    public func resolving(_ reference: String) throws(InvalidRequest) -> TargetURI {
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
            path: Self.encoded(parts.path, with: .path),
            query: parts.query.map { text throws(InvalidRequest) in try Self.encoded(text, with: .query) },
            fragment: parts.fragment.map { text throws(InvalidRequest) in try Self.encoded(text, with: .query) }
        ).normalized(inheriting: fragment)
    }

    private static func absolute(_ parts: URIReference, scheme: String) throws(InvalidRequest) -> TargetURI {
        let isHTTP = scheme == "http" || scheme == "https"
        guard let authority = parts.authority, isHTTP || !authority.isEmpty else {
            guard !isHTTP else { throw .malformedURL }
            return TargetURI(
                scheme: scheme, userinfo: nil, host: "", zone: nil, port: nil, path: "/", query: nil, fragment: nil)
        }
        return try TargetURI(scheme: scheme, authority: authority, parts: parts)
    }

    private func normalized(inheriting inherited: String?) -> TargetURI {
        replacing(path: Self.removingDotSegments(from: path), query: query, fragment: fragment ?? inherited)
    }

    /// Resolves `.` and `..` (RFC 3986 §5.2.4).
    static func removingDotSegments(from path: String) -> String {
        guard path.mayHoldDotSegments else { return path }
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

    /// The number of dots, 1 or 2, of a segment that consists of them; `%2E` is one, too (RFC 3986 §6.2.2.2).
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
    /// Whether a dot, or the beginning of an escaped one, follows a slash; cheap, and true for any dot segment.
    fileprivate var mayHoldDotSegments: Bool {
        var previous: UInt8 = 0
        for byte in utf8 {
            if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { return true }
            previous = byte
        }
        return false
    }
}
