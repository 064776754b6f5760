import Requests

/// A content coding that can be decoded if the system has the library for it (RFC 9110 §8.4.1).
package enum ContentCoding: String, CaseIterable, Sendable {
    case gzip, deflate
    case brotli = "br"
    case zstd

    /// Creates the coding with a name from Content-Encoding, ignoring ASCII case; nil for an unknown name.
    package init?(named name: String) {
        if ASCIIFolding.areEqual(name, "x-gzip") {
            self = .gzip
            return
        }
        guard let coding = Self.allCases.first(where: { ASCIIFolding.areEqual($0.rawValue, name) }) else { return nil }
        self = coding
    }

    /// The codings whose library is available, in the order in which they are offered; determined once.
    package static let available: [ContentCoding] = allCases.filter(\.isAvailable)

    private var isAvailable: Bool {
        switch self {
        case .gzip, .deflate: InflateDecoder.library != nil
        case .brotli: BrotliDecoder.library != nil
        case .zstd: ZstdDecoder.library != nil
        }
    }

    /// Returns a decoder for one body; nil if the library or memory is unavailable.
    package func makeDecoder() -> (any CodingDecoder)? {
        switch self {
        case .gzip: InflateDecoder(format: .gzip)
        case .deflate: InflateDecoder(format: nil)
        case .brotli: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}

/// A decoder for one content coding of a body; it never writes more bytes than fit.
///
/// One owner uses it, with one call at a time.
package protocol CodingDecoder: AnyObject, Sendable {
    /// Whether the bytes read so far are a complete body.
    var isAtEnd: Bool { get }

    /// Decodes as much as fits in `output`, as early as possible.
    ///
    /// With empty input it writes bytes that did not fit before. If it has read all input and left space in `output`,
    /// it needs more input to continue.
    ///
    /// - Returns: The number of bytes read from `input`, and of bytes written to `output`.
    /// - Throws: `CodingFault` for invalid bytes; do not use the decoder after it.
    func decode(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (read: Int, written: Int)
}

/// An error in coded bytes.
package struct CodingFault: Error, Hashable, Sendable {
    /// The number of input bytes that were read before the error was found.
    package let read: Int
    /// The error as a phrase, from the decoding library if it has one.
    package let problem: String
}
