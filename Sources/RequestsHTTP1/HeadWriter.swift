package import Requests

/// Functions that write response heads (RFC 9112 §4, §5).
package enum ResponseHeadWriter {
    /// Appends the status line, the fields in their order, and an empty line to `buffer`.
    ///
    /// No field is changed: the caller provides the framing fields.
    ///
    /// - Parameters:
    ///   - line: The status line.
    ///   - header: The header.
    ///   - isLeftOut: A function that returns whether the fields of a name are not written.
    ///   - more: The fields to write after `header`.
    ///   - buffer: The buffer.
    /// - Throws: A violation, with nothing appended, if the status does not have three digits, a name is not a token,
    ///   or a value or the reason phrase contains a control character such as CR or LF.
    package static func append(
        _ line: StatusLine, _ header: Header, leavingOut isLeftOut: (Field.Name) -> Bool = { _ in false },
        adding more: [Field] = [], to buffer: inout [UInt8]
    ) throws(WireError) {
        guard 100...999 ~= line.status.code else { throw .violation(.status) }
        guard Token.isFieldValue(line.reason) else { throw .violation(.statusLine) }
        let start = buffer.count
        // Enough for most heads: otherwise the buffer would grow several times. Reserving for each head would be
        // quadratic.
        if buffer.isEmpty { buffer.reserveCapacity(512) }
        buffer.append(contentsOf: line.version.description.utf8)
        buffer.append(Octet.space)
        for divisor in [100, 10, 1] { buffer.append(UInt8(0x30 + line.status.code / divisor % 10)) }
        buffer.append(Octet.space)
        buffer.append(contentsOf: line.reason.utf8)
        FieldLines.endLine(in: &buffer)
        do throws(WireError) {
            for field in header.list where !isLeftOut(field.name) { try FieldLines.append(field, to: &buffer) }
            for field in more { try FieldLines.append(field, to: &buffer) }
        } catch {
            buffer.removeLast(buffer.count - start)
            throw error
        }
        FieldLines.endLine(in: &buffer)
    }

    /// Appends the head of a response with `status` and its registered reason phrase.
    package static func append(
        _ status: HTTPStatus, _ header: Header, leavingOut isLeftOut: (Field.Name) -> Bool = { _ in false },
        adding more: [Field] = [], to buffer: inout [UInt8]
    ) throws(WireError) {
        let line = StatusLine(status: status, reason: status.reasonPhrase)
        try append(line, header, leavingOut: isLeftOut, adding: more, to: &buffer)
    }
}

/// Field lines, which header and trailer sections have in common (RFC 9112 §5).
enum FieldLines {
    /// Throws if the name is not a token or the value contains a control character.
    static func check(_ field: Field) throws(WireError) {
        guard field.name.isValid else { throw .violation(.fieldName) }
        guard Token.isFieldValue(field.value) else { throw .violation(.fieldValue) }
    }

    /// Appends the line of `field`; throws if it cannot be sent.
    static func append(_ field: Field, to buffer: inout [UInt8]) throws(WireError) {
        try check(field)
        buffer.append(contentsOf: field.name.rawValue.utf8)
        buffer.append(Octet.colon)
        buffer.append(Octet.space)
        field.appendValueBytes(to: &buffer)
        endLine(in: &buffer)
    }

    static func endLine(in buffer: inout [UInt8]) {
        buffer.append(Octet.carriageReturn)
        buffer.append(Octet.lineFeed)
    }
}
