package import Requests

/// Where the body of a message ends (RFC 9112 §6.3).
package enum BodyFraming: Hashable, Sendable {
    /// There is none, not even an empty one: the message ends with its head.
    case none
    /// After so many bytes.
    case counted(bytes: Int)
    /// With the last chunk and the trailer section.
    case chunked
    /// When the server closes the connection.
    case untilClose
}

/// Where the body of a response ends (RFC 9112 §6.3, in its order; CONNECT is never sent).
///
/// Transfer-Encoding with Content-Length, in HTTP/1.0, or with a coding other than chunked is refused.
package func framing(
    of line: StatusLine, _ header: Header, answering method: HTTPMethod
) throws(WireError) -> BodyFraming {
    if line.status.forbidsBody || method == .head { return .none }
    if try isChunked(header, version: line.version) { return .chunked }
    guard let length = try contentLength(of: header) else { return .untilClose }
    return .counted(bytes: length)
}

/// Where the body of a request ends (RFC 9112 §6.3, in its order): never with the connection.
package func framing(of line: RequestLine, _ header: Header) throws(WireError) -> BodyFraming {
    if try isChunked(header, version: line.version) { return .chunked }
    guard let length = try contentLength(of: header) else { return .none }
    return .counted(bytes: length)
}

/// Whether the transfer coding is chunked and nothing else (RFC 9112 §6.1); false when there is none.
private func isChunked(_ header: Header, version: HTTPVersion) throws(WireError) -> Bool {
    guard let codings = header[.transferEncoding] else { return false }
    guard version >= .http11 else { throw .violation(.transferCodingInHTTP10) }
    guard !header.contains(.contentLength) else { throw .violation(.lengthWithTransferCoding) }
    if ASCIIFolding.areEqual(codings, "chunked") { return true }
    let elements = listElements(codings)
    guard let last = elements.last, isChunked(last), elements.count(where: isChunked) == 1 else {
        throw .violation(.transferCoding)
    }
    guard elements.count == 1 else { throw .violation(.unsupportedTransferCoding) }
    return true
}

private func isChunked(_ coding: Substring) -> Bool {
    ASCIIFolding.areEqual(String(coding), "chunked")
}

/// The number that all Content-Length agree on, or nil when there is none (RFC 9110 §8.6).
///
/// A list of the same digits counts as one; the same number spelled differently does not.
private func contentLength(of header: Header) throws(WireError) -> Int? {
    guard let value = header[.contentLength] else { return nil }
    guard value.utf8.contains(0x2C) else { return try decimal(value.utf8) }
    var lengths = value.utf8.split(separator: 0x2C, omittingEmptySubsequences: false).makeIterator()
    guard let first = lengths.next().map(trimmed) else { throw .violation(.contentLength) }
    let length = try decimal(first)
    while let other = lengths.next().map(trimmed) {
        _ = try decimal(other)
        guard other.elementsEqual(first) else { throw .violation(.conflictingLengths) }
    }
    return length
}

private func decimal(_ digits: some Collection<UInt8>) throws(WireError) -> Int {
    guard !digits.isEmpty else { throw .violation(.contentLength) }
    var value = 0
    for digit in digits {
        let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, carry) = tens.addingReportingOverflow(Int(digit &- Octet.zero))
        guard Octet.isDigit(digit), !overflow, !carry else { throw .violation(.contentLength) }
        value = sum
    }
    return value
}

/// The elements of a list (RFC 9110 §5.6.1) of tokens, empty ones left out.
func listElements(_ value: String) -> [Substring] {
    value.utf8.split(separator: 0x2C).map(trimmed).filter { !$0.isEmpty }.map { Substring($0) }
}

private func trimmed(_ element: Substring.UTF8View) -> Substring.UTF8View {
    var element = element
    while let first = element.first, Octet.isBlank(first) { element.removeFirst() }
    while let last = element.last, Octet.isBlank(last) { element.removeLast() }
    return element
}

extension Header {
    /// Whether a list of tokens in the fields called `name` has `element`, in any case.
    func listContains(_ element: String, in name: Field.Name) -> Bool {
        guard let value = self[name] else { return false }
        if ASCIIFolding.areEqual(value, element) { return true }
        return listElements(value).contains { ASCIIFolding.areEqual(String($0), element) }
    }
}
