import Requests

/// A reader for a body with any framing; it reports the positions of the bytes and never copies them.
struct BodyReader {
    enum Event {
        case needMore
        case data(Range<Int>)
        case end(trailers: Header)
    }

    private enum State {
        case counted(Int), untilClose
        // The CR and the LF after a chunk are two states, because they can arrive in different reads.
        case chunkLine, chunk(Int), chunkEnd, chunkLineFeed, trailers
        case finished
    }

    private var state: State
    private var chunkLine = ChunkLine()
    private let tolerance: LineTolerance

    init(_ framing: BodyFraming, tolerating tolerance: LineTolerance) {
        state =
            switch framing {
            case .none: .finished
            case .counted(let bytes): .counted(bytes)
            case .chunked: .chunkLine
            case .untilClose: .untilClose
            }
        self.tolerance = tolerance
    }

    /// The number of bytes to come that belong to the body, whatever their values are.
    var remaining: Int {
        switch state {
        case .counted(let count), .chunk(let count): count
        case .untilClose: .max
        default: 0
        }
    }

    /// Records that `count` bytes of the body bypassed the reader; at most `remaining` of them count.
    mutating func advance(_ count: Int) {
        switch state {
        case .counted(let remainder): state = .counted(remainder &- min(max(count, 0), remainder))
        case .chunk(let remainder):
            let remainder = remainder &- min(max(count, 0), remainder)
            state = remainder == 0 ? .chunkEnd : .chunk(remainder)
        default: break
        }
    }

    /// Reads from `start`.
    ///
    /// Returns the position after the bytes that were read, and what they mean.
    ///
    /// `section` reads the trailer section; when the last chunk has been read, `section` is replaced by a new value.
    mutating func next(
        in bytes: Span<UInt8>, from start: Int, _ section: inout FieldSection, limits: WireLimits
    ) throws(WireError) -> (position: Int, event: Event) {
        var position = start
        while true {
            switch state {
            // A body with Content-Length: 0 begins here, and every other counted body ends here.
            case .finished, .counted(0):
                state = .finished
                return (position, .end(trailers: .empty))
            case .counted(let remainder), .chunk(let remainder): return data(of: remainder, in: bytes, from: position)
            case .untilClose: return data(of: .max, in: bytes, from: position)
            case .trailers: return try readTrailers(bytes, from: position, &section, limits)
            case .chunkLine, .chunkEnd, .chunkLineFeed:
                guard position < bytes.count else { return (position, .needMore) }
                try readChunkFraming(bytes, at: &position, limits)
                if case .trailers = state {
                    section = FieldSection(tolerating: tolerance.inTrailers, isTrailer: true)
                }
            }
        }
    }

    /// Records the end of the connection, which ends a body without a length and truncates any other.
    mutating func receiveEnd() throws(WireError) {
        switch state {
        case .finished, .untilClose, .counted(0): state = .finished
        case .trailers: throw .truncated(.trailers)
        default: throw .truncated(.body)
        }
    }

    private mutating func data(
        of remainder: Int, in bytes: Span<UInt8>, from start: Int
    ) -> (position: Int, event: Event) {
        let count = min(remainder, bytes.count &- start)
        guard count > 0 else { return (start, .needMore) }
        advance(count)
        return (start &+ count, .data(start..<start &+ count))
    }

    private mutating func readChunkFraming(
        _ bytes: Span<UInt8>, at position: inout Int, _ limits: WireLimits
    ) throws(WireError) {
        switch state {
        case .chunkEnd:
            guard bytes[position] == Octet.carriageReturn else { throw .violation(.chunkEnd) }
            position &+= 1
            state = .chunkLineFeed
        case .chunkLineFeed:
            guard bytes[position] == Octet.lineFeed else { throw .violation(.chunkEnd) }
            position &+= 1
            state = .chunkLine
        default:
            guard let size = try chunkLine.read(bytes, at: &position, limits) else { return }
            state = size == 0 ? .trailers : .chunk(size)
        }
    }

    private mutating func readTrailers(
        _ bytes: Span<UInt8>, from start: Int, _ section: inout FieldSection, _ limits: WireLimits
    ) throws(WireError) -> (position: Int, event: Event) {
        let (position, isComplete) = try section.read(bytes, from: start, limits: limits)
        guard isComplete else { return (position, .needMore) }
        state = .finished
        return (position, .end(trailers: section.takeFields()))
    }
}
