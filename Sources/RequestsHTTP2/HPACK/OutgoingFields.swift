package import Requests

/// The fields of a message in the form in which HTTP/2 sends them, with names in lower case (RFC 9113 §8.2).
///
/// They are collected before the connection is locked, and not validated.
package struct OutgoingFields: Sendable {
    private(set) var fields = FieldQueue()
    /// The choices of the encoder for each field, made before the connection is locked.
    private(set) var encodings: [(staticIndex: Int?, indexing: FieldIndexing)] = []

    /// The size of the fields that the peer's limit counts: the bytes of each name and value, and 32 for each field
    /// (RFC 9113 §6.5.2).
    package private(set) var listSize = 0

    /// Creates an empty list, with memory for most messages.
    package init() {
        fields.reserveCapacity(16, ofText: 512)
        encodings.reserveCapacity(16)
    }

    package var count: Int { fields.count }

    /// Appends a field, such as `:method`.
    ///
    /// - Parameters:
    ///   - name: The name; its ASCII letters become lower-case ones.
    ///   - value: The value, as UTF-8.
    ///   - isSecret: Whether no table of this or another connection may store the value (RFC 7541 §7.1.3).
    package mutating func append(_ name: String, _ value: String, isSecret: Bool = false) {
        append(name, isSecret: { _ in isSecret }) { $0.append(contentsOf: value.utf8) }
    }

    /// Appends `field` with the bytes of its value.
    ///
    /// - Parameters:
    ///   - field: The field; the ASCII letters of its name become lower-case ones.
    ///   - isSecret: Whether no table of this or another connection may store the value (RFC 7541 §7.1.3).
    package mutating func append(_ field: Field, isSecret: Bool = false) {
        append(field.name.rawValue, isSecret: { _ in isSecret }) { field.appendValueBytes(to: &$0) }
    }

    /// Appends a field of a message, without white space around its value: HTTP/1.1 allows it, and HTTP/2 does not
    /// (RFC 9113 §8.2.1).
    mutating func append(trimming field: Field, isSecret: (Field.Name) -> Bool = { _ in false }) {
        append(field.name.rawValue, isSecret: { FieldIndexing.mayBeSecret($0) && isSecret(field.name) }) { text in
            let start = text.count
            field.appendValueBytes(to: &text)
            Self.trim(&text, from: start)
        }
    }

    /// Removes the white space around the value that begins at `start`.
    private static func trim(_ text: inout [UInt8], from start: Int) {
        while text.count > start, let last = text.last, isBlank(last) { text.removeLast() }
        let blanks = text[start...].prefix { isBlank($0) }
        if !blanks.isEmpty { text.removeSubrange(blanks.startIndex..<blanks.endIndex) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private mutating func append(
        _ name: String, isSecret: (_ staticIndex: Int?) -> Bool, _ appendValue: (inout [UInt8]) -> Void
    ) {
        fields.append(nameCount: name.utf8.count) { text in
            let start = text.count
            text.append(contentsOf: name.utf8)
            for position in start..<text.count { text[position] = ASCIIFolding.folded(text[position]) }
            appendValue(&text)
        }
        encodeLast(at: StaticTable.index(ofNameOf: fields.count - 1, in: fields), isSecret: isSecret)
    }

    /// Appends a pseudo-header field, such as `:method`.
    mutating func append(_ name: StaticTable.PseudoName, _ value: String) {
        let index = name.rawValue
        fields.append(nameCount: StaticTable.fields.nameCount(at: index - 1)) { text in
            StaticTable.fields.appendName(at: index - 1, to: &text)
            text.append(contentsOf: value.utf8)
        }
        encodeLast(at: index, isSecret: { _ in false })
    }

    /// Chooses the encoding of the last field.
    ///
    /// - Parameters:
    ///   - staticIndex: The index of the name in the static table; nil if the table does not contain it.
    ///   - isSecret: Returns whether the value must not be indexed.
    private mutating func encodeLast(at staticIndex: Int?, isSecret: (_ staticIndex: Int?) -> Bool) {
        let position = fields.count - 1
        let indexing = FieldIndexing(
            staticIndex: staticIndex, valueCount: fields.valueCount(at: position), isSecret: isSecret(staticIndex))
        encodings.append((staticIndex, indexing))
        listSize += fields.size(at: position)
    }
}
