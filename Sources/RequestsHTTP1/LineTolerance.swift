/// What a recipient lets pass where RFC 9112 leaves it the choice.
struct LineTolerance {
    /// Whether LF alone ends a line of a head (RFC 9112 §2.2).
    let bareLineFeed: Bool
    /// Whether a folded field line is joined to the one before it, else it is refused (RFC 9112 §5.2).
    let folding: Bool

    /// A user agent's: old servers are read.
    static let response = LineTolerance(bareLineFeed: true, folding: true)
    /// A server's: what two readers could take differently is refused.
    static let request = LineTolerance(bareLineFeed: false, folding: false)

    /// The same in a trailer section, which no old server sends: only CR LF ends its lines.
    var inTrailers: LineTolerance { LineTolerance(bareLineFeed: false, folding: folding) }
}

extension Span<UInt8> {
    /// The position after the line end that should be at `position`, or nil when the bytes end before it does.
    ///
    /// A bare CR is never a line end (RFC 9112 §2.2); a bare LF only where it is tolerated.
    func lineEnd(at position: Int, tolerating tolerance: LineTolerance) throws(WireError) -> Int? {
        guard position < count else { return nil }
        if self[position] == Octet.lineFeed {
            guard tolerance.bareLineFeed else { throw .violation(.bareLineFeed) }
            return position &+ 1
        }
        guard self[position] == Octet.carriageReturn, position &+ 1 < count else { return nil }
        guard self[position &+ 1] == Octet.lineFeed else { throw .violation(.bareCarriageReturn) }
        return position &+ 2
    }

    /// The position of the CR or LF that ends the text from `start`, and whether the text is ASCII; nil when neither
    /// is there yet.
    ///
    /// Text is SP, HTAB, visible ASCII and bytes above 0x7F (RFC 9110 §5.5); any other byte breaks `rule`.
    func endOfText(from start: Int, else rule: Violation) throws(WireError) -> (end: Int, isASCII: Bool)? {
        var position = start
        var isASCII = true
        while true {
            position = endOfPlainText(from: position)
            guard position < count else { return nil }
            switch self[position] {
            case Octet.carriageReturn, Octet.lineFeed: return (position, isASCII)
            case Octet.tab: break
            case 0x80...: isASCII = false
            default: throw .violation(rule)
            }
            position &+= 1
        }
    }
}
