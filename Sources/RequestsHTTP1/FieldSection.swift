import Requests

/// Reads a field section line by line: that of a head or a trailer section (RFC 9112 §5, §7.1.2).
///
/// A line that is complete is consumed at once; the bytes of one that is not stay with the caller, who gives them
/// again with more behind them.
struct FieldSection {
    private let tolerates: LineTolerance
    private let isTrailer: Bool

    private var fields: ReceivedFields?
    /// Those of them that frame the message.
    private(set) var framing = FramingFields()
    /// What the last of them has to do with that, until it is known not to go on.
    private var role: FramingRole?
    private var count = 0
    /// Up to where the text of the bytes at hand is in `fields`.
    private var kept = 0
    private(set) var bytesRead: Int
    private var folded: [UInt8] = []
    private var isFolding = false
    private var bytesSearched = 0

    /// A section that nothing was read of; `bytesRead` counts towards the limit of the head.
    init(tolerating tolerance: LineTolerance, isTrailer: Bool = false, bytesRead: Int = 0) {
        tolerates = tolerance
        self.isTrailer = isTrailer
        self.bytesRead = bytesRead
    }

    /// Reads lines of `bytes` from `start`.
    ///
    /// Gives the position after the last complete line, and whether that was the empty line that ends the section.
    mutating func read(
        _ bytes: Span<UInt8>, from start: Int, limits: WireLimits
    ) throws(WireError) -> (position: Int, isComplete: Bool) {
        if bytesSearched > 0 {
            guard bytes.firstLineFeed(from: min(start &+ bytesSearched, bytes.count)) != nil else {
                try wait(in: bytes, at: start, limits)
                return (start, false)
            }
            bytesSearched = 0
        }
        var (position, isComplete) = (start, false)
        kept = start
        while !isComplete, let line = try readLine(of: bytes, at: position, limits) {
            try check(lineLength: line.end &- position, limits)
            bytesRead &+= line.end &- position
            (position, isComplete) = line
        }
        try keep(bytes, upTo: position, limits)
        if !isComplete { try wait(in: bytes, at: position, limits) }
        return (position, isComplete)
    }

    /// Keeps the text of the lines before `position` that has not been kept yet: as late as can be, and so all at once.
    private mutating func keep(_ bytes: Span<UInt8>, upTo position: Int, _ limits: WireLimits) throws(WireError) {
        guard position > kept, fields != nil else { return kept = position }
        let hasRoom = bytes.extracting(kept..<position).withUnsafeBufferPointer { fields?.append(text: $0) }
        guard hasRoom == true else { throw .tooLarge(limit: .head(bytes: limits.headBytes)) }
        kept = position
    }

    /// The fields read, once the section is complete; none are left.
    mutating func takeFields() -> Header {
        fields.take().map { Header($0) } ?? .empty
    }

    private mutating func wait(
        in bytes: Span<UInt8>, at position: Int, _ limits: WireLimits
    ) throws(WireError) {
        bytesSearched = bytes.count &- position
        try check(lineLength: bytesSearched, limits)
    }

    private func check(lineLength: Int, _ limits: WireLimits) throws(WireError) {
        if isTrailer {
            guard bytesRead &+ lineLength <= limits.trailerBytes else {
                throw .tooLarge(limit: .trailers(bytes: limits.trailerBytes))
            }
        } else {
            guard lineLength <= limits.lineBytes else {
                throw .tooLarge(limit: .fieldLine(bytes: limits.lineBytes))
            }
            guard bytesRead &+ lineLength <= limits.headBytes else {
                throw .tooLarge(limit: .head(bytes: limits.headBytes))
            }
        }
    }
}

// One line at a time. Each function gives nil when the bytes end before the line does.
extension FieldSection {
    private mutating func readLine(
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits
    ) throws(WireError) -> (end: Int, isLast: Bool)? {
        guard start < bytes.count else { return nil }
        let first = bytes[start]
        if Octet.isBlank(first) { return try readFold(of: bytes, at: start, limits).map { ($0, false) } }
        if isFolding || role != nil { try endField(in: bytes, at: start, limits) }
        if first == Octet.carriageReturn || first == Octet.lineFeed {
            return try bytes.lineEnd(at: start, tolerating: tolerates).map { ($0, true) }
        }
        return try readField(of: bytes, at: start, limits).map { ($0, false) }
    }

    private mutating func readField(
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        let colon = bytes.endOfToken(from: start)
        guard colon < bytes.count else { return nil }
        guard colon > start, bytes[colon] == Octet.colon else { throw .violation(.fieldName) }
        let valueStart = bytes.endOfBlanks(from: colon &+ 1)
        guard let text = try bytes.endOfText(from: valueStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerates)
        else { return nil }
        if count == 0 { fields = ReceivedFields(roomForText: isTrailer ? 64 : min(bytes.count &- start, 1024)) }
        guard count < limits.fieldCount else { throw .tooLarge(limit: .fields(count: limits.fieldCount)) }
        let valueEnd = max(valueStart, bytes.trimmedEnd(text.end, after: valueStart))
        let hasRoom = fields?.append(
            name: (start &- kept)..<(colon &- kept), value: (valueStart &- kept)..<(valueEnd &- kept),
            isASCII: text.isASCII)
        guard hasRoom == true else { throw .tooLarge(limit: .head(bytes: limits.headBytes)) }
        count &+= 1
        role = bytes.framingRole(from: start, to: colon)
        return lineEnd
    }

    /// Reads a line that continues the field before it, joined by one SP (RFC 9112 §5.2).
    private mutating func readFold(
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        guard tolerates.folding, count > 0 else { throw .violation(.folding) }
        let textStart = bytes.endOfBlanks(from: start)
        guard let text = try bytes.endOfText(from: textStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerates)
        else { return nil }
        if !isFolding {
            try keep(bytes, upTo: start, limits)
            folded = fields?.withBytes(at: count &- 1) { _, value, _ in Array(value) } ?? []
            isFolding = true
        }
        kept = lineEnd
        let textEnd = bytes.trimmedEnd(text.end, after: textStart)
        if textEnd > textStart {
            if !folded.isEmpty { folded.append(Octet.space) }
            for position in textStart..<textEnd { folded.append(bytes[position]) }
        }
        return lineEnd
    }

    /// Takes note of the last field, which no line continues: the one at `position` is another's.
    private mutating func endField(
        in bytes: Span<UInt8>, at position: Int, _ limits: WireLimits
    ) throws(WireError) {
        try keep(bytes, upTo: position, limits)
        if isFolding, let name = fields?.withBytes(at: count &- 1, { name, _, _ in Array(name) }) {
            fields?.removeLast()
            guard fields?.append(name: name, value: folded) == true else {
                throw .tooLarge(limit: .head(bytes: limits.headBytes))
            }
            isFolding = false
            folded = []
        }
        if let role = role.take(), let fields { framing.add(fields.value(at: count &- 1), as: role) }
    }
}

extension Span<UInt8> {
    /// What the field whose name has the bytes from `start` to before `end`, a token, has to do with framing.
    fileprivate func framingRole(from start: Int, to end: Int) -> FramingRole? {
        switch end &- start {
        case 4 where isName("host", from: start): .host
        case 10 where isName("connection", from: start): .connection
        case 10 where isName("keep-alive", from: start): .keepAlive
        case 14 where isName("content-length", from: start): .contentLength
        case 17 where isName("transfer-encoding", from: start): .transferEncoding
        default: nil
        }
    }

    /// Whether the bytes from `start` on, once folded, are those of `name`, which is in lower case.
    private func isName(_ name: StaticString, from start: Int) -> Bool {
        guard count &- start >= name.utf8CodeUnitCount else { return false }
        // Of the bytes of a token this folds letters only: into a letter, or into a dash that was one.
        for offset in 0..<name.utf8CodeUnitCount where self[start &+ offset] | 0x20 != name.utf8Start[offset] {
            return false
        }
        return true
    }
}
