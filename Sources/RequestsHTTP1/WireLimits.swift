import Requests

/// The limits on a message's framing; the length of its body is not limited.
package struct WireLimits: Hashable, Sendable {
    /// The maximum size of start line and header section in bytes, preceding interim responses included: 256 KiB.
    package var headBytes = 256 * 1024

    /// The maximum size of the status line or request line in bytes, line end included: 16 KiB.
    package var startLineBytes = 16 * 1024

    /// The maximum size of one field line of a head in bytes, line end included: 100 KiB.
    package var lineBytes = 100 * 1024

    /// The maximum number of field lines in one header or trailer section: 2,000.
    package var fieldCount = 2_000

    /// The maximum number of interim responses before the final one: 20.
    package var interimResponses = 20

    /// The maximum size in bytes of all chunk extensions, and of zeros before chunk sizes, in one body: 64 KiB.
    package var chunkExtensionBytes = 64 * 1024

    /// The maximum size of the trailer section in bytes: 16 KiB.
    package var trailerBytes = 16 * 1024

    package init() {}
}

/// A limit that a message exceeds, with the limit's value.
package enum WireLimit: Hashable, Sendable, CustomStringConvertible {
    case startLine(bytes: Int)
    case fieldLine(bytes: Int)
    case head(bytes: Int)
    case fields(count: Int)
    case interimResponses(count: Int)
    case chunkExtensions(bytes: Int)
    case trailers(bytes: Int)

    /// The limit in words, such as `262144 bytes in the head`.
    package var description: String {
        switch self {
        case .startLine(let bytes): "\(ErrorText.bytes(bytes)) in the start line"
        case .fieldLine(let bytes): "\(ErrorText.bytes(bytes)) in a field line"
        case .head(let bytes): "\(ErrorText.bytes(bytes)) in the head"
        case .fields(let count): count == 1 ? "1 field" : "\(count) fields"
        case .interimResponses(let count): count == 1 ? "1 interim response" : "\(count) interim responses"
        case .chunkExtensions(let bytes): "\(ErrorText.bytes(bytes)) of chunk extensions"
        case .trailers(let bytes): "\(ErrorText.bytes(bytes)) in the trailer section"
        }
    }
}
