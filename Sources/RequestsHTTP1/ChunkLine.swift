/// A reader of the line before a chunk's data: size, extensions, CR LF (RFC 9112 §7.1).
///
/// Each byte is consumed as it arrives. Extensions are ignored, but counted over the whole body, so that a peer cannot
/// send them without end.
struct ChunkLine {
    private enum Part { case size, blanks, extensions, lineFeed }

    private var part = Part.size
    private var size = 0
    private var digitCount = 0
    private var extensionBytes = 0

    /// Reads from `position`, which it advances, and returns the chunk size when the line is complete.
    mutating func read(
        _ bytes: Span<UInt8>, at position: inout Int, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        while position < bytes.count {
            let byte = bytes[position]
            position &+= 1
            switch part {
            case .size: try readSize(byte, limits)
            case .blanks: try readBlank(byte, limits)
            case .extensions: try readExtension(byte, limits)
            case .lineFeed:
                guard byte == Octet.lineFeed else { throw .violation(.bareCarriageReturn) }
                defer { (part, size, digitCount) = (.size, 0, 0) }
                return size
            }
        }
        return nil
    }

    private mutating func readSize(_ byte: UInt8, _ limits: WireLimits) throws(WireError) {
        if let digit = Octet.hexDigit(byte) {
            // Checked before the shift, which could overflow.
            guard size <= Int.max >> 4 else { throw .violation(.chunkSize) }
            size = size << 4 | digit
            digitCount &+= 1
            // More digits than a size needs are leading zeros, and count as extension bytes.
            if digitCount > 16 { try countExtension(limits) }
            return
        }
        guard digitCount > 0 else { throw .violation(.chunkSize) }
        switch byte {
        case Octet.carriageReturn: part = .lineFeed
        case Octet.semicolon: part = .extensions
        case Octet.space, Octet.tab: part = .blanks
        case Octet.lineFeed: throw .violation(.chunkLine)
        default: throw .violation(.chunkSize)
        }
        if part != .lineFeed { try countExtension(limits) }
    }

    /// Reads a byte of white space, which is allowed before an extension but not before the line end (RFC 9112 §7.1.1).
    private mutating func readBlank(_ byte: UInt8, _ limits: WireLimits) throws(WireError) {
        try countExtension(limits)
        if byte == Octet.semicolon {
            part = .extensions
        } else if !Octet.isBlank(byte) {
            throw .violation(.chunkLine)
        }
    }

    private mutating func readExtension(_ byte: UInt8, _ limits: WireLimits) throws(WireError) {
        if byte == Octet.carriageReturn {
            part = .lineFeed
        } else if byte >= Octet.space && byte != 0x7F || byte == Octet.tab {
            try countExtension(limits)
        } else {
            throw .violation(.chunkLine)
        }
    }

    private mutating func countExtension(_ limits: WireLimits) throws(WireError) {
        extensionBytes &+= 1
        guard extensionBytes <= limits.chunkExtensionBytes else {
            throw .tooLarge(limit: .chunkExtensions(bytes: limits.chunkExtensionBytes))
        }
    }
}
