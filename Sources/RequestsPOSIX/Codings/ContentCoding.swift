import Requests

/// A content coding that can be undone where the system has the library for it (RFC 9110 §8.4.1).
package enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate
    case brotli = "br"
    case zstd

    /// The coding that a member of Content-Encoding names, in any case; nil for one that is not known.
    package init?(named name: String) {
        let name = ASCIIFolding.folded(name)
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// Those whose library is here, in the order in which they are offered; looked for once.
    package static let available: [ContentCoding] = allCases.filter(\.isAvailable)

    private var isAvailable: Bool {
        switch self {
        case .gzip, .deflate: InflateDecoder.library != nil
        case .brotli: BrotliDecoder.library != nil
        case .zstd: ZstdDecoder.library != nil
        }
    }

    /// A decoder at the beginning of a body; nil without the library, or the memory.
    package func makeDecoder() -> (any CodingDecoder)? {
        switch self {
        case .gzip: InflateDecoder(format: .gzip)
        case .deflate: InflateDecoder(format: nil)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}

/// Undoes one content coding of one body: bytes in, bytes out, never more than there is room for.
///
/// It has one owner, who asks it one thing at a time.
package protocol CodingDecoder: AnyObject, Sendable {
    /// Whether what has been read so far is a whole body.
    var isAtEnd: Bool { get }

    /// Decodes what there is room for, as soon as it can be had.
    ///
    /// Called without input it gives what was held back for want of room. When it has room left and has read everything,
    /// there is no more before more comes in.
    ///
    /// - Returns: How many bytes of `input` it has read, and how many of `output` it has written.
    /// - Throws: `CodingFault` for bytes that are none of the coding; the decoder is of no use then.
    func decode(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (read: Int, written: Int)
}

/// What is wrong with coded bytes.
package struct CodingFault: Error, Hashable, Sendable {
    /// How many bytes of the input had been read when it was found.
    package let read: Int
    /// What it is, in the library's words or ours.
    package let problem: String
}
