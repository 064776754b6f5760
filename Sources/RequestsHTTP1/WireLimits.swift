/// How much of a message's framing a reader takes before it gives up; of its body it takes any amount.
package struct WireLimits: Hashable, Sendable {
    /// Bytes of start-lines and field sections, those of the interim responses before it included: 256 KiB.
    package var headBytes = 256 * 1024

    /// Bytes of the status-line or request-line, its line end included: 16 KiB.
    package var startLineBytes = 16 * 1024

    /// Bytes of one field line of a head, its line end included: 100 KiB.
    package var lineBytes = 100 * 1024

    /// Field lines in one head or trailer section: 2,000.
    package var fieldCount = 2_000

    /// Interim responses before the final one: 20.
    package var interimResponses = 20

    /// Bytes of chunk extensions, and of zeros before a chunk size, in one body: 64 KiB.
    package var chunkExtensionBytes = 64 * 1024

    /// Bytes of the trailer section: 16 KiB.
    package var trailerBytes = 16 * 1024

    /// The limits named above.
    package init() {}
}

/// The limit that a message went beyond, with its value.
package enum WireLimit: Hashable, Sendable, CustomStringConvertible {
    /// Bytes of the status-line or request-line.
    case startLine(bytes: Int)
    /// Bytes of one field line.
    case fieldLine(bytes: Int)
    /// Bytes of the whole head.
    case head(bytes: Int)
    /// Field lines in a section.
    case fields(count: Int)
    /// Interim responses.
    case interimResponses(count: Int)
    /// Bytes of chunk extensions in a body.
    case chunkExtensions(bytes: Int)
    /// Bytes of the trailer section.
    case trailers(bytes: Int)

    /// The limit in words, as in `262144 bytes of head`.
    package var description: String {
        switch self {
        case .startLine(let bytes): "\(bytes) bytes of start-line"
        case .fieldLine(let bytes): "\(bytes) bytes of field line"
        case .head(let bytes): "\(bytes) bytes of head"
        case .fields(let count): "\(count) fields"
        case .interimResponses(let count): "\(count) interim responses"
        case .chunkExtensions(let bytes): "\(bytes) bytes of chunk extensions"
        case .trailers(let bytes): "\(bytes) bytes of trailer section"
        }
    }
}
