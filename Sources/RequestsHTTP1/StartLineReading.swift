import Requests

/// Returns the status line at the start of `bytes` and the position after it, or nil if it is incomplete (RFC 9112 §4).
///
/// Each byte is checked as soon as it is present, so a peer that does not use HTTP is rejected at its first wrong byte.
func statusLine(in bytes: Span<UInt8>, limits: WireLimits) throws(WireError) -> (StatusLine, Int)? {
    // Nearly every status line is recognized here by three comparisons, in place of 200 instructions.
    if bytes.beginsWithOK {
        try checkStartLine(length: 17, limits)
        return (StatusLine(status: 200, reason: "OK"), 17)
    }
    guard let version = try version(in: bytes, at: 0) else { return nil }
    guard let code = try statusCode(in: bytes) else { return nil }
    // `HTTP/1.1 200` has 12 bytes.
    guard bytes.count > 12 else { return nil }
    // Many old servers omit the SP before an empty reason phrase.
    let textStart = bytes[12] == Octet.space ? 13 : 12
    guard textStart == 13 || bytes[12] == Octet.carriageReturn || bytes[12] == Octet.lineFeed else {
        throw .violation(.statusLine)
    }
    guard let text = try bytes.endOfText(from: textStart, else: .statusLine),
        let end = try bytes.lineEnd(at: text.end, tolerating: .response)
    else {
        try checkStartLine(length: bytes.count, limits)
        return nil
    }
    try checkStartLine(length: end, limits)
    let reason = bytes.text(from: textStart, to: text.end, isASCII: text.isASCII)
    return (StatusLine(version: version, status: HTTPStatus(code), reason: reason), end)
}

/// Returns the request line at `start` and the position after it, or nil if it is incomplete (RFC 9112 §3).
func requestLine(
    in bytes: Span<UInt8>, from start: Int, limits: WireLimits
) throws(WireError) -> (RequestLine, Int)? {
    guard let line = try requestLineParts(in: bytes, from: start) else {
        try checkStartLine(length: bytes.count &- start, limits)
        return nil
    }
    try checkStartLine(length: line.end &- start, limits)
    let method = HTTPMethod(bytes.text(from: start, to: line.methodEnd, isASCII: true))
    let target = bytes.text(from: line.methodEnd &+ 1, to: line.targetEnd, isASCII: true)
    return (RequestLine(method: method, target: target, version: line.version), line.end)
}

/// Returns the positions of the parts of the request line at `start`, or nil if the line is incomplete.
private func requestLineParts(
    in bytes: Span<UInt8>, from start: Int
) throws(WireError) -> (methodEnd: Int, targetEnd: Int, version: HTTPVersion, end: Int)? {
    var methodEnd = start
    while methodEnd < bytes.count, Octet.isToken(bytes[methodEnd]) { methodEnd &+= 1 }
    guard methodEnd < bytes.count else { return nil }
    guard methodEnd > start, bytes[methodEnd] == Octet.space else { throw .violation(.requestLine) }
    var targetEnd = methodEnd &+ 1
    // Visible ASCII, 0x21 to 0x7E, in one comparison.
    while targetEnd < bytes.count, bytes[targetEnd] &- 0x21 < 0x5E { targetEnd &+= 1 }
    guard targetEnd < bytes.count else { return nil }
    guard targetEnd > methodEnd &+ 1, bytes[targetEnd] == Octet.space else { throw .violation(.requestLine) }
    guard bytes.isRequestTarget(from: methodEnd &+ 1, to: targetEnd, method: start) else {
        throw .violation(.requestTarget)
    }
    guard let version = try version(in: bytes, at: targetEnd &+ 1) else { return nil }
    let versionEnd = targetEnd &+ 9
    guard versionEnd < bytes.count else { return nil }
    guard bytes[versionEnd] == Octet.carriageReturn || bytes[versionEnd] == Octet.lineFeed else {
        throw .violation(.requestLine)
    }
    guard let end = try bytes.lineEnd(at: versionEnd, tolerating: .request) else { return nil }
    return (methodEnd, targetEnd, version, end)
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
    }
    guard bytes.count >= 12 else { return nil }
    guard code >= 100 else { throw .violation(.status) }
    return code
}

/// Throws if a start line of `length` bytes, line end included, exceeds the limit.
private func checkStartLine(length: Int, _ limits: WireLimits) throws(WireError) {
    guard length <= limits.startLineBytes else {
        throw .tooLarge(limit: .startLine(bytes: limits.startLineBytes))
    }
}

/// The part of an incomplete start line that has already been searched for its end.
struct StartLineSearch {
    /// The length in bytes up to which a line is parsed again with every byte, so that invalid bytes are rejected at
    /// once.
    private static let shortLine = 512
    private var searched = 0

    /// Returns whether the line at `start` can have become complete or invalid, and records that it has been searched.
    ///
    /// In a line longer than `shortLine` only new bytes are searched, for LF, so that bytes that arrive one at a time
    /// cost linear time.
    mutating func shouldParse(
        in bytes: Span<UInt8>, from start: Int, limits: WireLimits
    ) throws(WireError) -> Bool {
        let length = bytes.count &- start
        let before = min(searched, length)
        searched = length
        if before <= Self.shortLine || bytes.firstLineFeed(from: start &+ before) != nil { return true }
        try checkStartLine(length: length, limits)
        return false
    }
}
