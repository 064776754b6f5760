package import Requests

/// A writer of response heads (RFC 9112 §4, §5).
package enum ResponseHeadWriter {
    /// Appends the status line, the fields in their order, and an empty line to `buffer`.
    ///
    /// No field is added or changed: the caller provides the framing fields.
    ///
    /// - Throws: A violation, with nothing appended, if the status does not have three digits, a name is not a token,
    ///   or a value or the reason phrase contains a control character such as CR or LF.
    package static func append(
        _ line: StatusLine, _ header: Header, to buffer: inout [UInt8]
    ) throws(WireError) {
        guard 100...999 ~= line.status.code else { throw .violation(.status) }
        guard Token.isFieldValue(line.reason) else { throw .violation(.statusLine) }
        try FieldLines.check(header)
        // Enough for most heads, so that the buffer does not grow several times; again and again would be quadratic.
        if buffer.isEmpty { buffer.reserveCapacity(512) }
        buffer.append(contentsOf: line.version.description.utf8)
        buffer.append(Octet.space)
        for divisor in [100, 10, 1] { buffer.append(UInt8(0x30 + line.status.code / divisor % 10)) }
        buffer.append(Octet.space)
        buffer.append(contentsOf: line.reason.utf8)
        buffer.append(contentsOf: FieldLines.lineEnd)
        FieldLines.append(header, to: &buffer)
    }

    /// Appends the head of a response with `status` and its registered reason phrase.
    package static func append(
        _ status: HTTPStatus, _ header: Header, to buffer: inout [UInt8]
    ) throws(WireError) {
        try append(StatusLine(status: status, reason: status.reasonPhrase), header, to: &buffer)
    }
}

/// Field lines, which header and trailer sections have in common (RFC 9112 §5).
enum FieldLines {
    static let lineEnd: [UInt8] = [Octet.carriageReturn, Octet.lineFeed]

    /// Throws if a name is not a token or a value contains a control character.
    static func check(_ header: Header) throws(WireError) {
        for field in header.list {
            guard field.name.isValid else { throw .violation(.fieldName) }
            guard Token.isFieldValue(field.value) else { throw .violation(.fieldValue) }
        }
    }

    /// Appends the lines of `header`, which ``check(_:)`` has accepted, and an empty line.
    static func append(_ header: Header, to buffer: inout [UInt8]) {
        for field in header.list {
            buffer.append(contentsOf: field.name.rawValue.utf8)
            buffer.append(Octet.colon)
            buffer.append(Octet.space)
            field.appendValueBytes(to: &buffer)
            buffer.append(contentsOf: lineEnd)
        }
        buffer.append(contentsOf: lineEnd)
    }
}
