import CRequestsPOSIX

/// Undoes gzip (RFC 1952) and deflate (RFC 1950, and RFC 1951 without its wrapper) with the system's zlib.
///
/// Several gzip members are one body. A deflate body without the wrapper is what some servers send; the bits where the
/// wrapper has its method are the padding of a stored block there, which nobody fills.
final class InflateDecoder: CodingDecoder, @unchecked Sendable {  // one owner at a time
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

    /// The checksum of a wrapper whose beginning was left out; it tells nothing then.
    private static var strayBytesAllowed: Int { 4 }

    private let library: rp_zlib
    // zlib remembers where it is.
    private let stream: UnsafeMutablePointer<rp_z_stream>
    private var format: Format?
    private var hasBegun = false
    private var strayBytes = 0
    private(set) var isAtEnd = false

    /// A decoder of `format`; nil is whichever of the two deflate formats the first byte tells.
    init?(format: Format?) {
        guard let library = Self.library else { return nil }
        self.library = library
        self.format = format
        stream = .allocate(capacity: 1)
        stream.initialize(to: rp_z_stream())
    }

    deinit {
        if hasBegun { rp_zlib_end(library, stream) }
        stream.deallocate()
    }

    func decode(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (read: Int, written: Int) {
        if let first = input.first {
            if !hasBegun { try begin(first) }
            if isAtEnd, try !goesOn(with: input) { return (input.count, 0) }
        }
        guard hasBegun, !isAtEnd else { return (0, 0) }
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
            throw CodingFault(read: read, problem: stream.pointee.msg.map { String(cString: $0) } ?? "error \(result)")
        }
        return (read, written)
    }

    private func begin(_ first: UInt8) throws(CodingFault) {
        let format = format ?? (first & 0x0F == 8 && first >> 4 <= 7 ? .wrapped : .raw)
        self.format = format
        guard rp_zlib_begin(library, stream, format.windowBits) == 0 else {
            throw CodingFault(read: 0, problem: "no memory for zlib")
        }
        hasBegun = true
    }

    /// What follows the end: whether there is something to decode in it.
    private func goesOn(with input: UnsafeRawBufferPointer) throws(CodingFault) -> Bool {
        switch format {
        case .gzip:
            _ = rp_zlib_reset(library, stream)
            isAtEnd = false
            return true
        case .raw where strayBytes + input.count <= Self.strayBytesAllowed:
            strayBytes += input.count
            return false
        default: throw CodingFault(read: 0, problem: "bytes after the end")
        }
    }
}
