import Requests

/// A reader of the status line of one response (RFC 9112 §4).
///
/// Each byte is checked as soon as it is present, so a peer that does not use HTTP is rejected at its first wrong byte.
struct StatusLineReader {
    /// The number of bytes that earlier calls have checked, up to a CR.
    private var checked = 0

    /// Returns the status line at the start of `bytes` and the position after it, or nil if it is incomplete.
    ///
    /// Pass all bytes of an incomplete line again, with further ones.
    mutating func read(_ bytes: Span<UInt8>, limits: WireLimits) throws(WireError) -> (StatusLine, Int)? {
        // Nearly every status line is recognized here by three comparisons, in place of 200 instructions.
        if bytes.beginsWithOK, limits.startLineBytes >= 17 { return (StatusLine(status: 200, reason: "OK"), 17) }
        // The bytes beyond the limit are not read, so that the limit is the error, however the bytes arrive.
        if let line = try readLine(bytes.extracting(first: limits.startLineBytes)) { return line }
        try checkStartLine(length: bytes.count, limits)
        return nil
    }

    private mutating func readLine(_ bytes: Span<UInt8>) throws(WireError) -> (StatusLine, Int)? {
        // HTTP/2 begins with a SETTINGS frame (RFC 9113 §3.4), whose length fits in the last two of three bytes.
        if bytes.count > 0, bytes[0] == 0 { throw .violation(.http2) }
        guard let version = try version(in: bytes, at: 0) else { return nil }
        guard let code = try statusCode(in: bytes) else { return nil }
        // `HTTP/1.1 200` has 12 bytes.
        guard bytes.count > 12 else { return nil }
        // Many old servers omit the SP before an empty reason phrase.
        let textStart = bytes[12] == Octet.space ? 13 : 12
        guard textStart == 13 || bytes[12] == Octet.carriageReturn || bytes[12] == Octet.lineFeed else {
            throw .violation(.statusLine)
        }
        let isResumed = checked > textStart
        guard let text = try bytes.endOfText(from: max(textStart, checked), else: .statusLine) else {
            checked = bytes.count
            return nil
        }
        guard let end = try bytes.lineEnd(at: text.end, tolerating: .response) else {
            checked = text.end
            return nil
        }
        // This call knows whether the text is ASCII only if it has checked all of it.
        let reason = bytes.text(from: textStart, to: text.end, isASCII: text.isASCII && !isResumed)
        return (StatusLine(version: version, status: HTTPStatus(code), reason: reason), end)
    }
}

/// A reader of one request line (RFC 9112 §3), which checks each byte as soon as it is present.
struct RequestLineReader {
    /// Offsets in the line: of the first byte that no call has checked, and of the SP after the method and after the
    /// target.
    private var (checked, methodEnd, targetEnd) = (0, 0, 0)

    /// Returns the request line at `start` and the position after it, or nil if it is incomplete.
    ///
    /// Pass all bytes of an incomplete line again, with further ones.
    mutating func read(
        _ bytes: Span<UInt8>, from start: Int, limits: WireLimits
    ) throws(WireError) -> (RequestLine, Int)? {
        // The bytes beyond the limit are not read, so that the limit is the error, however the bytes arrive.
        let line = bytes.extracting(start...).extracting(first: limits.startLineBytes)
        guard let (version, end) = try readParts(line) else {
            try checkStartLine(length: bytes.count &- start, limits)
            return nil
        }
        let method = HTTPMethod(line.text(from: 0, to: methodEnd, isASCII: true))
        let target = line.text(from: methodEnd &+ 1, to: targetEnd, isASCII: true)
        return (RequestLine(method: method, target: target, version: version), start &+ end)
    }

    private mutating func readParts(_ line: Span<UInt8>) throws(WireError) -> (HTTPVersion, end: Int)? {
        if methodEnd == 0 {
            while checked < line.count, Octet.isToken(line[checked]) { checked &+= 1 }
            guard checked < line.count else { return nil }
            guard checked > 0, line[checked] == Octet.space else { throw .violation(.requestLine) }
            methodEnd = checked
            checked &+= 1
        }
        if targetEnd == 0 {
            // Visible ASCII, 0x21 to 0x7E, in one comparison.
            while checked < line.count, line[checked] &- 0x21 < 0x5E { checked &+= 1 }
            guard checked < line.count else { return nil }
            guard checked > methodEnd &+ 1, line[checked] == Octet.space else { throw .violation(.requestLine) }
            guard line.isRequestTarget(from: methodEnd &+ 1, to: checked, method: 0) else {
                throw .violation(.requestTarget)
            }
            targetEnd = checked
        }
        guard let version = try version(in: line, at: targetEnd &+ 1) else { return nil }
        let versionEnd = targetEnd &+ 9
        guard versionEnd < line.count else { return nil }
        guard line[versionEnd] == Octet.carriageReturn || line[versionEnd] == Octet.lineFeed else {
            throw .violation(.requestLine)
        }
        return try line.lineEnd(at: versionEnd, tolerating: .request).map { (version, $0) }
    }
}

/// Returns the version whose eight bytes begin at `start`, or nil if not all are present (RFC 9112 §2.3).
private func version(in bytes: Span<UInt8>, at start: Int) throws(WireError) -> HTTPVersion? {
    if let minor = bytes.minorVersion(at: start) { return HTTPVersion(major: 1, minor: minor) }
    for offset in 0..<min(8, bytes.count &- start) {
        guard isVersionByte(bytes[start &+ offset], at: offset) else { throw .violation(.version) }
    }
    guard bytes.count &- start >= 8 else { return nil }
    let (major, minor) = (bytes[start &+ 5] &- Octet.zero, bytes[start &+ 7] &- Octet.zero)
    guard major == 1 else { throw .violation(.unsupportedVersion) }
    return HTTPVersion(major: major, minor: minor)
}

/// Returns whether `byte` is valid at `offset` of `HTTP/d.d`.
private func isVersionByte(_ byte: UInt8, at offset: Int) -> Bool {
    switch offset {
    case 0: byte == 0x48
    case 1, 2: byte == 0x54
    case 3: byte == 0x50
    case 4: byte == 0x2F
    case 6: byte == 0x2E
    default: Octet.isDigit(byte)
    }
}

/// Returns the status code that follows the version, or nil if its bytes are not all present.
private func statusCode(in bytes: Span<UInt8>) throws(WireError) -> Int? {
    guard bytes.count > 8 else { return nil }
    guard bytes[8] == Octet.space else { throw .violation(.statusLine) }
    var code = 0
    for position in 9..<min(12, bytes.count) {
        guard Octet.isDigit(bytes[position]) else { throw .violation(.statusLine) }
        code = code &* 10 &+ Int(bytes[position] &- Octet.zero)
        guard code > 0 else { throw .violation(.status) }
    }
    return bytes.count >= 12 ? code : nil
}

/// Throws if a start line of `length` bytes, line end included, exceeds the limit.
private func checkStartLine(length: Int, _ limits: WireLimits) throws(WireError) {
    guard length <= limits.startLineBytes else {
        throw .tooLarge(limit: .startLine(bytes: limits.startLineBytes))
    }
}
