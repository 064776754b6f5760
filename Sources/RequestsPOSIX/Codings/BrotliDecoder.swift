import CRequestsPOSIX

/// A decoder of Brotli (RFC 7932) that uses the system's library; windows have at most 16 MiB.
final class BrotliDecoder: CodingDecoder, @unchecked Sendable {  // one chain at a time owns it
    static let library: rp_brotli? = {
        var library = rp_brotli()
        return rp_brotli_load(&library) == 1 ? library : nil
    }()

    private let library: rp_brotli
    private let state: UnsafeMutableRawPointer
    private(set) var isAtEnd = false

    init?() {
        guard let library = Self.library, let state = rp_brotli_make(library) else { return nil }
        self.library = library
        self.state = state
    }

    deinit {
        rp_brotli_destroy(library, state)
    }

    func decode(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(CodingFault) -> (read: Int, written: Int) {
        guard !isAtEnd else {
            guard input.isEmpty else { throw CodingFault(read: 0, problem: "unexpected bytes after the end") }
            return (0, 0)
        }
        var (remaining, room) = (input.count, output.count)
        let result = rp_brotli_decode(
            library, state, &remaining, input.bindMemory(to: UInt8.self).baseAddress, &room,
            output.bindMemory(to: UInt8.self).baseAddress)
        let (read, written) = (input.count - remaining, output.count - room)
        guard result != rp_brotli_failed else {
            let problem = rp_brotli_describe(library, state).map { String(cString: $0) }
            throw CodingFault(read: read, problem: problem ?? "corrupt data")
        }
        isAtEnd = result == rp_brotli_end
        return (read, written)
    }
}
