/// The state of the last segment of a path, to detect an interpolation that makes it empty, `.` or `..`.
struct PathSegment: Sendable {
    /// The number of dots in a segment that consists of at most two dots; 3 for any other segment.
    private var dots = 0
    private var isInterpolated = false
    private var isRaw = false
    /// The number of segments that raw text has added between the literal's directory and this segment.
    private var depth = 0

    /// Creates the state of an empty segment.
    init() {}

    /// Creates the state of a segment that consists of a value.
    init(value bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        append(value: bytes)
    }

    /// The error of the segment if it ends here; nil if it is valid.
    var problem: RequestError.InvalidRequest? {
        switch dots {
        case 0 where isInterpolated: .emptySegment
        case 1 where isInterpolated, 2 where isInterpolated: .dotSegment
        // Raw text may use dot segments below the directory of the literal.
        case 2 where isRaw && depth == 0: .dotSegment
        default: nil
        }
    }

    /// Appends the text of a literal.
    ///
    /// - Parameter bytes: The text; `%2E` in it counts as a dot.
    /// - Returns: The error of the segment that the text ends, or nil.
    mutating func append(literal bytes: UnsafeBufferPointer<UInt8>) -> RequestError.InvalidRequest? {
        guard let last = bytes.lastIndex(of: UInt8(ascii: "/")) else {
            add(bytes[...])
            return nil
        }
        // Only a segment with a value can have an error; the text before the first slash completes it.
        add(bytes[..<(bytes.firstIndex(of: UInt8(ascii: "/")) ?? last)])
        let problem = problem
        self = PathSegment()
        add(bytes[(last + 1)...])
        return problem
    }

    /// Appends trusted text that is not a literal.
    ///
    /// - Parameter bytes: The text; `%2E` in it counts as a dot.
    /// - Returns: The error of the first invalid segment that the text ends, or nil. A segment with an encoded slash, a
    ///   backslash or a semicolon is invalid if it has a dot segment for a server that ends segments there, as S3 does.
    mutating func append(raw bytes: UnsafeBufferPointer<UInt8>) -> RequestError.InvalidRequest? {
        var problem: RequestError.InvalidRequest?
        for (index, part) in bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).enumerated() {
            if index > 0 {
                problem = problem ?? self.problem
                end()
            }
            isRaw = true
            add(part)
            if dots == 3, part.contains(where: { "%\\;".utf8.contains($0) }),
                PercentEncoding.hasDotSegment(String(decoding: part, as: UTF8.self))
            {
                problem = problem ?? .dotSegment
            }
        }
        return problem
    }

    /// Appends a value that is not yet encoded: a percent sign in it is data.
    mutating func append(value bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        isInterpolated = true
        for byte in bytes {
            if dots >= 3 { return }
            dots = byte == UInt8(ascii: ".") ? dots + 1 : 3
        }
    }

    /// Begins the next segment after one that raw text has ended.
    private mutating func end() {
        // An empty segment does not count, because some servers remove it.
        let change = dots == 3 ? 1 : dots == 2 ? -1 : 0
        let depth = max(0, depth + change)
        self = PathSegment()
        self.depth = depth
    }

    /// Counts the dots of trusted text without slashes.
    private mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        var remainder = bytes
        while dots < 3, let byte = remainder.first {
            let isEscaped =
                byte == UInt8(ascii: "%") && remainder.dropFirst().starts(with: "2e".utf8)
                || byte == UInt8(ascii: "%") && remainder.dropFirst().starts(with: "2E".utf8)
            dots = isEscaped || byte == UInt8(ascii: ".") ? dots + 1 : 3
            remainder = remainder.dropFirst(isEscaped ? 3 : 1)
        }
    }
}

/// The error of a path, with the value that caused it.
///
/// It is a class, so that paths without an error, which are nearly all, store only one word for it.
final class PathProblem: Sendable {
    let reason: RequestError.InvalidRequest
    /// The interpolated value, or nil if the text of the literal is the cause.
    let value: String?

    init(_ reason: RequestError.InvalidRequest, value: String? = nil) {
        self.reason = reason
        self.value = value
    }
}
