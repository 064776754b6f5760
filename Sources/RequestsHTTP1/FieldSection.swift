import Requests

/// A line-by-line reader of a header or trailer section (RFC 9112 §5, §7.1.2).
///
/// A complete line is consumed at once. The bytes of an incomplete one stay with the caller, who passes them again
/// with further bytes.
struct FieldSection {
    private let tolerance: LineTolerance
    private let isTrailer: Bool

    private var fields: ReceivedFields?
    /// The fields that frame the message.
    private(set) var framing = FramingFields()
    /// The role of the last field in framing, until a line shows that the field is not folded.
    private var role: FramingRole?
    private var count = 0
    /// The position up to which the text of the current bytes has been copied to `fields`.
    private var copiedEnd = 0
    /// The size in bytes of the lines read; in a head with its start line and all interim responses before it.
    private(set) var bytesRead: Int
    /// The value of the last field while folded lines extend it.
    private var folded: [UInt8] = []
    private var isFolding = false
    /// The bytes of an unfinished line that contain no LF, so that they are not searched again.
    private var bytesSearched = 0

    /// Creates a reader of a section; `bytesRead`, the bytes before it, count towards the limit of the head.
    init(tolerating tolerance: LineTolerance, isTrailer: Bool = false, bytesRead: Int = 0) {
        self.tolerance = tolerance
        self.isTrailer = isTrailer
        self.bytesRead = bytesRead
    }

    /// Begins the section of a head, after a start line of `length` bytes.
    ///
    /// The sections of interim responses before it count towards the limit of the head.
    mutating func begin(afterLine length: Int) {
        // Assigning a new section takes as long as reading a field, and most sections are the first of their message.
        if count > 0 { self = FieldSection(tolerating: tolerance, bytesRead: bytesRead) }
        bytesRead &+= length
    }

    /// Reads the complete lines of `bytes` from `start`.
    ///
    /// - Returns: The position after the last complete line, and whether it is the empty line that ends the section.
    mutating func read(
        _ bytes: Span<UInt8>, from start: Int, limits: WireLimits
    ) throws(WireError) -> (position: Int, isComplete: Bool) {
        // A line is parsed again only once its LF is present: bytes that arrive one at a time cost linear time.
        if bytesSearched > 0 {
            guard bytes.firstLineFeed(from: min(start &+ bytesSearched, bytes.count)) != nil else {
                try recordUnfinishedLine(in: bytes, at: start, limits)
                return (start, false)
            }
            bytesSearched = 0
        }
        var (position, isComplete) = (start, false)
        copiedEnd = start
        while !isComplete, let line = try readLine(of: bytes, at: position, limits) {
            try check(lineLength: line.end &- position, limits)
            bytesRead &+= line.end &- position
            (position, isComplete) = line
        }
        try copyText(of: bytes, upTo: position, limits)
        if !isComplete { try recordUnfinishedLine(in: bytes, at: position, limits) }
        return (position, isComplete)
    }

    /// Copies the text of the lines before `position` to `fields`; as late as possible, so that one copy serves all.
    private mutating func copyText(of bytes: Span<UInt8>, upTo position: Int, _ limits: WireLimits) throws(WireError) {
        guard position > copiedEnd, fields != nil else { return copiedEnd = position }
        let hasRoom = bytes.extracting(copiedEnd..<position).withUnsafeBufferPointer { fields?.append(text: $0) }
        guard hasRoom == true else { throw .tooLarge(limit: .head(bytes: limits.headBytes)) }
        copiedEnd = position
    }

    /// Returns the fields of the complete section and removes them from the reader.
    mutating func takeFields() -> Header {
        fields.take().map { Header($0) } ?? .empty
    }

    /// Records that the line at `position` has no line end yet, and checks its length so far.
    private mutating func recordUnfinishedLine(
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

// One line at a time. Each function returns nil if the bytes end before the line does.
extension FieldSection {
    private mutating func readLine(
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits
    ) throws(WireError) -> (end: Int, isLast: Bool)? {
        guard start < bytes.count else { return nil }
        let first = bytes[start]
        if Octet.isBlank(first) { return try readFold(of: bytes, at: start, limits).map { ($0, false) } }
        // This line ends the field before it: its value is now complete.
        if isFolding || role != nil { try endField(in: bytes, at: start, limits) }
        if first == Octet.carriageReturn || first == Octet.lineFeed {
            return try bytes.lineEnd(at: start, tolerating: tolerance).map { ($0, true) }
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
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerance)
        else { return nil }
        if count == 0 { fields = ReceivedFields(roomForText: isTrailer ? 64 : min(bytes.count &- start, 1024)) }
        guard count < limits.fieldCount else { throw .tooLarge(limit: .fields(count: limits.fieldCount)) }
        let valueEnd = max(valueStart, bytes.trimmedEnd(text.end, after: valueStart))
        // Relative to the text that the next `copyText` appends.
        let hasRoom = fields?.append(
            name: (start &- copiedEnd)..<(colon &- copiedEnd),
            value: (valueStart &- copiedEnd)..<(valueEnd &- copiedEnd), isASCII: text.isASCII)
        guard hasRoom == true else { throw .tooLarge(limit: .head(bytes: limits.headBytes)) }
        count &+= 1
        role = bytes.framingRole(from: start, to: colon)
        return lineEnd
    }

    /// Reads a folded line and joins it to the preceding field with one SP (RFC 9112 §5.2).
    private mutating func readFold(
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        guard tolerance.folding, count > 0 else { throw .violation(.folding) }
        let textStart = bytes.endOfBlanks(from: start)
        guard let text = try bytes.endOfText(from: textStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerance)
        else { return nil }
        if !isFolding {
            try copyText(of: bytes, upTo: start, limits)
            folded = fields?.withBytes(at: count &- 1) { _, value, _ in Array(value) } ?? []
            isFolding = true
        }
        copiedEnd = lineEnd
        let textEnd = bytes.trimmedEnd(text.end, after: textStart)
        if textEnd > textStart {
            if !folded.isEmpty { folded.append(Octet.space) }
            for position in textStart..<textEnd { folded.append(bytes[position]) }
        }
        return lineEnd
    }

    /// Ends the last field, because the line at `position` does not continue it.
    private mutating func endField(
        in bytes: Span<UInt8>, at position: Int, _ limits: WireLimits
    ) throws(WireError) {
        try copyText(of: bytes, upTo: position, limits)
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
    /// Returns the framing role of the field whose name, a token, is the bytes from `start` to before `end`.
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

    /// Returns whether the bytes from `start` equal `name`, which is in lower case, ignoring ASCII case.
    private func isName(_ name: StaticString, from start: Int) -> Bool {
        guard count &- start >= name.utf8CodeUnitCount else { return false }
        // In a token, setting bit 0x20 yields a letter or dash of `name` only from the same letter or dash.
        for offset in 0..<name.utf8CodeUnitCount where self[start &+ offset] | 0x20 != name.utf8Start[offset] {
            return false
        }
        return true
    }
}
