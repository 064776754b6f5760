/// The reason why a header block was not decoded.
package enum HPACKError: Error, Hashable, Sendable {
    /// The block violates RFC 7541. The tables of both sides differ from here on, so the connection is over
    /// (COMPRESSION_ERROR).
    case malformed(Violation)

    /// The encoded block has more than twice the bytes that the decoded fields may have. It was not decoded, so the
    /// connection is over (ENHANCE_YOUR_CALM).
    case blockTooLarge(limit: Int)

    /// The decoded fields are larger than the limit, in bytes. The table is in step with the peer's, so only the
    /// stream fails.
    case listTooLarge(limit: Int)

    /// A rule of RFC 7541 that a header block violates; the raw value describes the violation in one line.
    package enum Violation: String, CaseIterable, Hashable, Sendable {
        case index = "a header block refers to a field that is not in the tables (RFC 7541 §2.3.3)"
        case integer = "a header block contains a number of 2^31 or more, or of more than six bytes (RFC 7541 §5.1)"
        case huffman = "a Huffman-coded string contains EOS or ends in invalid padding (RFC 7541 §5.2)"
        case truncated = "a header block ends within a field (RFC 7541 §6)"
        case tableSize = "a header block sets a larger table than the limit that was announced (RFC 7541 §6.3)"
        case lateTableSize = "the size of the table changes after the first field of a header block (RFC 7541 §4.2)"
        case missingTableSize = "the table was not reduced after its limit was (RFC 7541 §4.2)"
    }
}

extension HPACKError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let violation): violation.rawValue
        case .blockTooLarge(let limit): "a header block of more than twice the limit of \(limit) bytes"
        case .listTooLarge(let limit): "header fields of more than \(limit) bytes, with 32 more for each field"
        }
    }
}
