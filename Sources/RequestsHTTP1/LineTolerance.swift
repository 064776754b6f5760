/// Deviations that a recipient may accept, because RFC 9112 leaves it the choice.
struct LineTolerance {
    /// Whether LF alone ends a line of a head (RFC 9112 §2.2).
    let bareLineFeed: Bool
    /// Whether a folded field line is joined to the line before it; otherwise it is rejected (RFC 9112 §5.2).
    let folding: Bool

    /// The tolerance of a client, which reads the responses of old servers.
    static let response = LineTolerance(bareLineFeed: true, folding: true)
    /// The tolerance of a server, which rejects everything that two readers could interpret differently.
    static let request = LineTolerance(bareLineFeed: false, folding: false)

    /// The same tolerance for a trailer section, which no old server sends: only CR LF ends a line.
    var inTrailers: LineTolerance { LineTolerance(bareLineFeed: false, folding: folding) }
}

extension Span<UInt8> {
    /// Returns the position after the line end at `position`, or nil if its bytes are not all present.
    ///
    /// CR alone never ends a line (RFC 9112 §2.2); LF alone does only where it is tolerated.
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

    /// Returns the position of the CR or LF that ends the text from `start`, and whether the text is ASCII; nil if
    /// neither has arrived.
    ///
    /// Text is SP, HTAB, visible ASCII and bytes above 0x7F (RFC 9110 §5.5); any other byte violates `rule`.
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
