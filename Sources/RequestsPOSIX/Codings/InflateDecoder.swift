import CRequestsPOSIX

/// A decoder of gzip (RFC 1952) and deflate (RFC 1950, and RFC 1951 without its wrapper) that uses the system's zlib.
///
/// Several gzip members are one body. Some servers send deflate without its wrapper. It is recognized by the first
/// byte: the bits for the wrapper's method are then padding of a stored block, which encoders leave zero.
final class InflateDecoder: CodingDecoder, @unchecked Sendable {  // one chain at a time owns it
    enum Format {
        case gzip, wrapped, raw

        var windowBits: Int32 {
            switch self {
            case .gzip: rp_z_gzip
            case .wrapped: rp_z_wrapped
            case .raw: rp_z_raw
            }
        }
    }

    static let library: rp_zlib? = {
        var library = rp_zlib()
        return rp_zlib_load(&library) == 1 ? library : nil
    }()

    private let library: rp_zlib
    // zlib stores the address of the stream, so it must not move.
    private let stream: UnsafeMutablePointer<rp_z_stream>
    private var format: Format?
    private var isInitialized = false
    private(set) var isAtEnd = false

    /// Creates a decoder of `format`; with nil, the first byte determines which of the two deflate formats it is.
    init?(format: Format?) {
        guard let library = Self.library else { return nil }
        self.library = library
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: rp_z_stream())
    }

    deinit {
        if isInitialized { rp_zlib_end(library, stream) }
        stream.deallocate()
    }

    func decode(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (read: Int, written: Int) {
        if let first = input.first {
            if !isInitialized { try begin(first) }
            if isAtEnd { try beginMember(first) }
        }
        guard isInitialized, !isAtEnd else { return (0, 0) }
        let input = input.prefix(Int(UInt32.max))
        let output = output.prefix(Int(UInt32.max))
        let (offered, room) = (UInt32(input.count), UInt32(output.count))
        stream.pointee.next_in = UnsafeRawBufferPointer(rebasing: input).bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_in = offered
        stream.pointee.next_out = UnsafeMutableRawBufferPointer(rebasing: output).bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = room
        let result = rp_zlib_decode(library, stream)
        let read = Int(offered - stream.pointee.avail_in)
        let written = Int(room - stream.pointee.avail_out)
        switch result {
        case 0, rp_z_no_progress: break
        case rp_z_end: isAtEnd = true
        default:
            throw CodingFault(
                read: read, problem: stream.pointee.msg.map { String(cString: $0) } ?? "zlib error \(result)")
        }
        return (read, written)
    }

    /// Initializes zlib for the format; for deflate, the `first` byte determines it.
    private func begin(_ first: UInt8) throws(CodingFault) {
        let format = format ?? (first & 0x0F == 8 && first >> 4 <= 7 ? .wrapped : .raw)
        self.format = format
        guard rp_zlib_begin(library, stream, format.windowBits) == 0 else {
            throw CodingFault(read: 0, problem: "zlib is out of memory")
        }
        isInitialized = true
    }

    /// Begins another gzip member; its `first` byte follows the end of the previous one.
    private func beginMember(_ first: UInt8) throws(CodingFault) {
        // Without this check, a byte of padding would count as the beginning of a truncated member.
        guard format == .gzip, first == 0x1F else {
            throw CodingFault(read: 0, problem: "unexpected bytes after the end")
        }
        _ = rp_zlib_reset(library, stream)
        isAtEnd = false
    }
}
