import Requests

/// Reads a field section line by line: that of a head or a trailer section (RFC 9112 §5, §7.1.2).
///
/// A line that is complete is consumed at once; the bytes of one that is not stay with the caller, who gives them
/// again with more behind them.
struct FieldSection {
    private let tolerates: LineTolerance
    private let isTrailer: Bool

    private(set) var fields: [Field] = []
    /// Those of them that frame the message.
    private(set) var framing = FramingFields()
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
        var position = start
        let known = WellKnownText.shared
        if bytesSearched > 0 {
            guard bytes.firstLineFeed(from: min(start &+ bytesSearched, bytes.count)) != nil else {
                return (start, try wait(in: bytes, at: start, limits))
            }
            bytesSearched = 0
        }
        while true {
            guard let line = try readLine(of: bytes, at: position, limits, known) else {
                return (position, try wait(in: bytes, at: position, limits))
            }
            try check(lineLength: line.end &- position, limits)
            bytesRead &+= line.end &- position
            position = line.end
            if line.isLast { return (position, true) }
        }
    }

    /// The fields read, once the section is complete; none are left.
    mutating func takeFields() -> Header {
        defer { fields = [] }
        return Header(fields)
    }

    private mutating func wait(
        in bytes: Span<UInt8>, at position: Int, _ limits: WireLimits
    ) throws(WireError) -> Bool {
        bytesSearched = bytes.count &- position
        try check(lineLength: bytesSearched, limits)
        return false
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
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits, _ known: WellKnownText
    ) throws(WireError) -> (end: Int, isLast: Bool)? {
        guard start < bytes.count else { return nil }
        let first = bytes[start]
        if Octet.isBlank(first) { return try readFold(of: bytes, at: start).map { ($0, false) } }
        endFold()
        if first == Octet.carriageReturn || first == Octet.lineFeed {
            return try bytes.lineEnd(at: start, tolerating: tolerates).map { ($0, true) }
        }
        return try readField(of: bytes, at: start, limits, known).map { ($0, false) }
    }

    private mutating func readField(
        of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits, _ known: WellKnownText
    ) throws(WireError) -> Int? {
        let colon = bytes.endOfToken(from: start)
        guard colon < bytes.count else { return nil }
        guard colon > start, bytes[colon] == Octet.colon else { throw .violation(.fieldName) }
        let valueStart = bytes.endOfBlanks(from: colon &+ 1)
        guard let text = try bytes.endOfText(from: valueStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerates)
        else { return nil }
        guard fields.count < limits.fieldCount else {
            throw .tooLarge(limit: .fields(count: limits.fieldCount))
        }
        if fields.isEmpty { fields.reserveCapacity(isTrailer ? 2 : 24) }
        let name = Field.Name(bytes.text(from: start, to: colon, among: known))
        let valueEnd = bytes.trimmedEnd(text.end, after: valueStart)
        let field =
            text.isASCII
            ? Field(
                name: name,
                // Only of Content-Type are there a few values that nearly everyone sends.
                value: colon &- start == 12
                    ? bytes.text(from: valueStart, to: valueEnd, among: known)
                    : bytes.text(from: valueStart, to: valueEnd, isASCII: true))
            : bytes.field(name, from: valueStart, to: valueEnd)
        if let role = bytes.framingRole(from: start, to: colon) { framing.add(field.value, as: role) }
        fields.append(field)
        return lineEnd
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
        framing = FramingFields(fields)
        isFolding = false
        folded = []
    }
}

extension Span<UInt8> {
    /// ASCII text that may be one of those that are kept.
    fileprivate func text(from start: Int, to end: Int, among known: WellKnownText) -> String {
        known.find(self, from: start, to: end) ?? text(from: start, to: end, isASCII: true)
    }

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

    fileprivate func field(_ name: Field.Name, from start: Int, to end: Int) -> Field {
        extracting(start..<Swift.max(start, end)).withUnsafeBufferPointer { Field(name: name, receivedBytes: $0) }
    }
}
