package import Requests

/// Writes the head of a response (RFC 9112 §4, §5).
package enum ResponseHeadWriter {
    /// Appends the status-line, the fields in their order and the empty line after them.
    ///
    /// Nothing is added and nothing altered: the framing fields are the caller's. Throws a violation, and appends
    /// nothing, when the status has not three digits, a name is no token, or a value or the reason has a control
    /// byte, CR and LF above all.
    package static func append(
        _ line: StatusLine, _ header: Header, to buffer: inout [UInt8]
    ) throws(WireError) {
        guard 100...999 ~= line.status.code else { throw .violation(.status) }
        guard !line.reason.utf8.contains(where: Token.isForbiddenInValue) else { throw .violation(.statusLine) }
        try FieldLines.check(header)
        buffer.append(contentsOf: "\(line.version) \(line.status.code) ".utf8)
        buffer.append(contentsOf: line.reason.utf8)
        buffer.append(contentsOf: FieldLines.lineEnd)
        FieldLines.append(header, to: &buffer)
    }

    /// Appends the head of a response of `status`, with the phrase that the registry gives it.
    package static func append(
        _ status: HTTPStatus, _ header: Header, to buffer: inout [UInt8]
    ) throws(WireError) {
        try append(StatusLine(status: status, reason: status.reasonPhrase), header, to: &buffer)
    }
}

/// Field lines as both sections of a message have them (RFC 9112 §5).
enum FieldLines {
    static let lineEnd: [UInt8] = [Octet.carriageReturn, Octet.lineFeed]

    static func check(_ header: Header) throws(WireError) {
        for field in header {
            guard field.name.isValid else { throw .violation(.fieldName) }
            guard !field.valueBytes.contains(where: Token.isForbiddenInValue) else { throw .violation(.fieldValue) }
        }
    }

    /// Appends the lines of fields that have been checked, and the empty line.
    static func append(_ header: Header, to buffer: inout [UInt8]) {
        for field in header {
            buffer.append(contentsOf: field.name.rawValue.utf8)
            buffer.append(Octet.colon)
            buffer.append(Octet.space)
            buffer.append(contentsOf: field.valueBytes)
            buffer.append(contentsOf: lineEnd)
        }
        buffer.append(contentsOf: lineEnd)
    }
}
