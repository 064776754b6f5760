import Requests

/// A line-by-line reader of a header or trailer section (RFC 9112 §5, §7.1.2).
///
/// A complete line is consumed at once. The caller keeps the bytes of an incomplete line, and passes them again with
/// further bytes.
struct FieldSection {
    private let tolerance: LineTolerance
    private let isTrailer: Bool

    /// The fields that earlier calls have read.
    private var fields: ReceivedFields?
    /// The fields that frame the message.
    private(set) var framing = FramingFields()
    /// The framing role of the last field, kept until a line shows that the field is not folded.
    private var unfinishedRole: FramingRole?
    /// The size of the lines read, in bytes; in a head it includes the start line and all interim responses before it.
    private(set) var bytesRead: Int
    /// The number of bytes of an unfinished line that have been checked, up to a CR.
    private var checked = 0
    /// Whether the checked bytes of an unfinished line belong to its name.
    private var isInName = false

    /// Creates a reader of a section; `bytesRead`, the bytes before it, count towards the limit of the head.
    init(tolerating tolerance: LineTolerance, isTrailer: Bool = false, bytesRead: Int = 0) {
        self.tolerance = tolerance
        self.isTrailer = isTrailer
        self.bytesRead = bytesRead
    }

    /// Begins the section of a head, after a start line of `length` bytes, which count towards the limit of the head.
    mutating func begin(afterLine length: Int) {
        bytesRead &+= length
    }

    /// Reads the complete lines of `bytes` from `start`.
    ///
    /// - Returns: The position after the last complete line, and whether it is the empty line that ends the section.
    mutating func read(
        _ bytes: Span<UInt8>, from start: Int, limits: WireLimits
    ) throws(WireError) -> (position: Int, isComplete: Bool) {
        // A line is parsed again only when it is complete, so bytes that arrive one at a time take linear time.
        if checked > 0 {
            guard try completesLine(in: bytes, at: start, limits) else { return (start, false) }
            checked = 0
        }
        var (position, isComplete) = (start, false)
        var writer = ReceivedFields.Writer(taking: &fields, from: start)
        // If all bytes together are within the limits of one line and of the section, so is each line.
        var end = readableEnd(of: bytes, at: start, limits)
        let needsChecks = end < bytes.count
        while !isComplete, let line = try readLine(of: bytes.extracting(first: end), at: position, &writer, limits) {
            bytesRead &+= line.end &- position
            (position, isComplete) = line
            if needsChecks { end = readableEnd(of: bytes, at: position, limits) }
        }
        try copyText(of: bytes, upTo: position, to: &writer, limits)
        fields = writer.finish()
        if !isComplete {
            isInName = position < bytes.count && Octet.isToken(bytes[position])
            _ = try completesLine(in: bytes, at: position, limits)
        }
        return (position, isComplete)
    }

    /// Copies the text of the lines before `position` to `writer`.
    ///
    /// It is called as late as possible, so that one copy is enough.
    private func copyText(
        of bytes: Span<UInt8>, upTo position: Int, to writer: inout ReceivedFields.Writer, _ limits: WireLimits
    ) throws(WireError) {
        guard writer.appendText(of: bytes, upTo: position) else {
            throw .tooLarge(limit: .head(bytes: limits.headBytes))
        }
    }

    /// Returns the fields of the complete section and removes them from the reader.
    mutating func takeFields() -> Header {
        fields.take().map { Header($0) } ?? .empty
    }

    /// Checks the new bytes of the unfinished line at `start`, and returns whether the line is complete.
    private mutating func completesLine(
        in bytes: Span<UInt8>, at start: Int, _ limits: WireLimits
    ) throws(WireError) -> Bool {
        let readable = bytes.extracting(first: readableEnd(of: bytes, at: start, limits))
        if try readable.completesLine(at: start, &checked, isInName: &isInName, tolerating: tolerance) { return true }
        // The bytes beyond the limits are not read, so that the limit is the error, however the bytes arrive.
        guard readable.count < bytes.count else { return false }
        throw .tooLarge(limit: exceededLimit(limits))
    }

    /// Returns the end of the bytes that a line at `start` may occupy within the limits.
    private func readableEnd(of bytes: Span<UInt8>, at start: Int, _ limits: WireLimits) -> Int {
        let sectionBytes = (isTrailer ? limits.trailerBytes : limits.headBytes) &- bytesRead
        let lineBytes = isTrailer ? sectionBytes : min(sectionBytes, limits.lineBytes)
        return start &+ min(bytes.count &- start, max(0, lineBytes))
    }

    /// Returns the limit that the next line exceeds first.
    private func exceededLimit(_ limits: WireLimits) -> WireLimit {
        if isTrailer { return .trailers(bytes: limits.trailerBytes) }
        let isLongLine = limits.lineBytes <= limits.headBytes &- bytesRead
        return isLongLine ? .fieldLine(bytes: limits.lineBytes) : .head(bytes: limits.headBytes)
    }
}

// One line at a time. Each function returns nil if the bytes end before the line does.
extension FieldSection {
    private mutating func readLine(
        of bytes: Span<UInt8>, at start: Int, _ writer: inout ReceivedFields.Writer, _ limits: WireLimits
    ) throws(WireError) -> (end: Int, isLast: Bool)? {
        guard start < bytes.count else { return nil }
        let first = bytes[start]
        if Octet.isBlank(first) { return try readFold(of: bytes, at: start, &writer, limits).map { ($0, false) } }
        // This line ends the field before it: its value is now complete.
        if unfinishedRole != nil { try endField(in: bytes, at: start, &writer, limits) }
        if first == Octet.carriageReturn || first == Octet.lineFeed {
            return try bytes.lineEnd(at: start, tolerating: tolerance).map { ($0, true) }
        }
        return try readField(of: bytes, at: start, &writer, limits).map { ($0, false) }
    }

    private mutating func readField(
        of bytes: Span<UInt8>, at start: Int, _ writer: inout ReceivedFields.Writer, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        let colon = bytes.endOfToken(from: start)
        guard colon < bytes.count else { return nil }
        guard colon > start, bytes[colon] == Octet.colon else { throw .violation(.fieldName) }
        let valueStart = bytes.endOfBlanks(from: colon &+ 1)
        guard let text = try bytes.endOfText(from: valueStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerance)
        else { return nil }
        if writer.count == 0 { writer.reserveCapacity(ofText: isTrailer ? 64 : min(bytes.count &- start, 1024)) }
        guard writer.count < limits.fieldCount else { throw .tooLarge(limit: .fields(count: limits.fieldCount)) }
        let valueEnd = bytes.trimmedEnd(text.end, after: valueStart)
        guard writer.append(name: start..<colon, value: valueStart..<valueEnd, isASCII: text.isASCII) else {
            throw .tooLarge(limit: .head(bytes: limits.headBytes))
        }
        if let role = bytes.framingRole(from: start, to: colon) {
            // The value is complete only if the next line has begun and is not a folded one.
            if lineEnd < bytes.count, !Octet.isBlank(bytes[lineEnd]) {
                framing.add(bytes.extracting(valueStart..<valueEnd), as: role)
            } else {
                unfinishedRole = role
            }
        }
        return lineEnd
    }

    /// Adds the last field to the framing, because the line at `position` does not continue the field.
    private mutating func endField(
        in bytes: Span<UInt8>, at position: Int, _ writer: inout ReceivedFields.Writer, _ limits: WireLimits
    ) throws(WireError) {
        try copyText(of: bytes, upTo: position, to: &writer, limits)
        guard let role = unfinishedRole.take() else { return }
        writer.withLastValue { framing.add($0.span, as: role) }
    }

    /// Reads a folded line and joins it to the preceding field with one SP (RFC 9112 §5.2).
    private mutating func readFold(
        of bytes: Span<UInt8>, at start: Int, _ writer: inout ReceivedFields.Writer, _ limits: WireLimits
    ) throws(WireError) -> Int? {
        guard tolerance.folding, writer.count > 0 else { throw .violation(.folding) }
        let textStart = bytes.endOfBlanks(from: start)
        guard let text = try bytes.endOfText(from: textStart, else: .fieldValue),
            let lineEnd = try bytes.lineEnd(at: text.end, tolerating: tolerance)
        else { return nil }
        let textEnd = bytes.trimmedEnd(text.end, after: textStart)
        // A line of white space adds nothing.
        guard textEnd > textStart else { return lineEnd }
        try copyText(of: bytes, upTo: start, to: &writer, limits)
        guard
            writer.extendLast(
                with: bytes.extracting(textStart..<textEnd), isASCII: text.isASCII, upTo: lineEnd)
        else { throw .tooLarge(limit: .head(bytes: limits.headBytes)) }
        return lineEnd
    }
}

extension Span<UInt8> {
    /// Checks the bytes of the line at `start` from offset `checked` on, and returns whether the line is complete.
    fileprivate func completesLine(
        at start: Int, _ checked: inout Int, isInName: inout Bool, tolerating tolerance: LineTolerance
    ) throws(WireError) -> Bool {
        if isInName {
            let colon = endOfToken(from: start &+ checked)
            checked = colon &- start
            guard colon < count else { return false }
            guard self[colon] == Octet.colon else { throw .violation(.fieldName) }
            isInName = false
        }
        let text = try endOfText(from: start &+ checked, else: .fieldValue)
        checked = (text?.end ?? count) &- start
        guard let text else { return false }
        return try lineEnd(at: text.end, tolerating: tolerance) != nil
    }

    /// Returns the framing role of the field whose name is the token from `start` to before `end`.
    fileprivate func framingRole(from start: Int, to end: Int) -> FramingRole? {
        if isName("host", from: start, to: end) { return .host }
        if isName("connection", from: start, to: end) { return .connection }
        if isName("keep-alive", from: start, to: end) { return .keepAlive }
        if isName("content-length", from: start, to: end) { return .contentLength }
        return isName("transfer-encoding", from: start, to: end) ? .transferEncoding : nil
    }
}
