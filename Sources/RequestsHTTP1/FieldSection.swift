import Requests

/// Reads a field section line by line: that of a head or a trailer section (RFC 9112 §5, §7.1.2).
///
/// A line that is complete is consumed at once; the bytes of one that is not stay with the caller, who gives them
/// again with more behind them.
struct FieldSection {
    private let tolerates: LineTolerance
    private let limits: WireLimits
    private let isTrailer: Bool

    private(set) var fields: [Field] = []
    private(set) var bytesRead: Int
    private var folded: [UInt8] = []
    private var isFolding = false
    private var bytesSearched = 0

    /// A section that nothing was read of; `bytesRead` counts towards the limit of the head.
    init(tolerating tolerance: LineTolerance, limits: WireLimits, isTrailer: Bool = false, bytesRead: Int = 0) {
        tolerates = tolerance
        self.limits = limits
        self.isTrailer = isTrailer
        self.bytesRead = bytesRead
    }

    /// Reads lines of `bytes` from `start`.
    ///
    /// Gives the position after the last complete line, and whether that was the empty line that ends the section.
    mutating func read(_ bytes: Span<UInt8>, from start: Int) throws(WireError) -> (position: Int, isComplete: Bool) {
        var position = start
        if bytesSearched > 0 {
            guard bytes.firstLineFeed(from: min(start &+ bytesSearched, bytes.count)) != nil else {
                return (start, try wait(in: bytes, at: start))
            }
            bytesSearched = 0
        }
        while true {
            guard let line = try readLine(of: bytes, at: position) else {
                return (position, try wait(in: bytes, at: position))
            }
            try count(line.end &- position)
            position = line.end
            if line.isLast { return (position, true) }
        }
    }

    /// The fields read, once the section is complete.
    mutating func takeFields() -> Header {
        defer { fields = [] }
        return Header(fields)
    }

    private mutating func wait(in bytes: Span<UInt8>, at position: Int) throws(WireError) -> Bool {
        bytesSearched = bytes.count &- position
        try check(lineLength: bytesSearched)
        return false
    }

    private mutating func count(_ length: Int) throws(WireError) {
        try check(lineLength: length)
        bytesRead &+= length
    }

    private func check(lineLength: Int) throws(WireError) {
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
        of bytes: Span<UInt8>, at start: Int
    ) throws(WireError) -> (end: Int, isLast: Bool)? {
        guard start < bytes.count else { return nil }
        let first = bytes[start]
        if Octet.isBlank(first) { return try readFold(of: bytes, at: start).map { ($0, false) } }
        endFold()
        if first == Octet.carriageReturn || first == Octet.lineFeed {
            return try bytes.lineEnd(at: start, tolerating: tolerates).map { ($0, true) }
        }
        return try readField(of: bytes, at: start).map { ($0, false) }
    }

    private mutating func readField(of bytes: Span<UInt8>, at start: Int) throws(WireError) -> Int? {
        var colon = start
        while colon < bytes.count, Octet.isToken(bytes[colon]) { colon &+= 1 }
        guard colon < bytes.count else { return nil }
        guard colon > start, bytes[colon] == Octet.colon else { throw .violation(.fieldName) }
        let valueStart = bytes.endOfBlanks(from: colon &+ 1)
        guard let text = try bytes.endOfText(from: valueStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerates)
        else { return nil }
        guard fields.count < limits.fieldCount else {
            throw .tooLarge(limit: .fields(count: limits.fieldCount))
        }
        if fields.isEmpty { fields.reserveCapacity(isTrailer ? 2 : 16) }
        let name = fieldName(bytes, from: start, to: colon)
        let valueEnd = bytes.trimmedEnd(text.end, after: valueStart)
        fields.append(field(name, bytes, from: valueStart, to: valueEnd, isASCII: text.isASCII))
        return lineEnd
    }

    private func fieldName(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Field.Name {
        Field.Name(
            WellKnownText.find(bytes, from: start, to: end) ?? bytes.text(from: start, to: end, isASCII: true))
    }

    private func field(
        _ name: Field.Name, _ bytes: Span<UInt8>, from start: Int, to end: Int, isASCII: Bool
    ) -> Field {
        guard isASCII else {
            return bytes.extracting(start..<max(start, end)).withUnsafeBufferPointer {
                Field(name: name, receivedBytes: $0)
            }
        }
        let value = WellKnownText.find(bytes, from: start, to: end)
        return Field(name: name, value: value ?? bytes.text(from: start, to: end, isASCII: true))
    }

    /// Reads a line that continues the field before it, joined by one SP (RFC 9112 §5.2).
    private mutating func readFold(of bytes: Span<UInt8>, at start: Int) throws(WireError) -> Int? {
        guard tolerates.folding, let last = fields.last else { throw .violation(.folding) }
        let textStart = bytes.endOfBlanks(from: start)
        guard let text = try bytes.endOfText(from: textStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerates)
        else { return nil }
        if !isFolding {
            folded = last.valueBytes
            isFolding = true
        }
        let textEnd = bytes.trimmedEnd(text.end, after: textStart)
        if textEnd > textStart {
            if !folded.isEmpty { folded.append(Octet.space) }
            for position in textStart..<textEnd { folded.append(bytes[position]) }
        }
        return lineEnd
    }

    private mutating func endFold() {
        guard isFolding, let last = fields.popLast() else { return }
        fields.append(Field(name: last.name, receivedBytes: folded))
        isFolding = false
        folded = []
    }
}
