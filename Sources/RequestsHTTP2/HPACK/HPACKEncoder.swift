import Requests

/// An encoder of the header blocks of one direction of a connection (RFC 7541).
package struct HPACKEncoder: ~Copyable {
    /// The maximum size of the table that is used, whatever the peer allows.
    private static let tableSizeLimit = 4096

    private var table = HPACKTable()
    /// The lowest and the last limit of the table since the last block.
    private var newTableSizes: (lowest: Int, last: Int)?

    package init() {}

    /// Sets the limit of the table to a SETTINGS_HEADER_TABLE_SIZE of the peer; the next block says so.
    ///
    /// If SETTINGS contain the parameter several times, this function is called for each of them.
    package mutating func setMaximumTableSize(_ size: Int) {
        let size = min(size, Self.tableSizeLimit)
        newTableSizes = (min(size, newTableSizes?.lowest ?? size), size)
    }

    /// Appends the block of `fields` to `buffer`.
    ///
    /// The peer must receive the blocks in the order of the calls.
    package mutating func encode(_ fields: OutgoingFields, into buffer: inout [UInt8]) {
        resizeTable(&buffer)
        for position in 0..<fields.count { encodeField(at: position, of: fields, into: &buffer) }
    }

    /// Changes the size of the table to the last limit of the peer, and before that to the lowest one, at which the
    /// peer has removed fields (RFC 7541 §4.2).
    private mutating func resizeTable(_ buffer: inout [UInt8]) {
        guard let sizes = newTableSizes.take() else { return }
        if sizes.lowest < sizes.last, sizes.lowest < table.maximumSize { resizeTable(to: sizes.lowest, &buffer) }
        if sizes.last != table.maximumSize { resizeTable(to: sizes.last, &buffer) }
    }

    private mutating func resizeTable(to size: Int, _ buffer: inout [UInt8]) {
        table.resize(to: size)
        buffer.append(integer: size, prefix: 5, 0x20)
    }
}

// MARK: Fields

extension HPACKEncoder {
    private mutating func encodeField(at position: Int, of fields: OutgoingFields, into buffer: inout [UInt8]) {
        var (staticIndex, indexing) = fields.encodings[position]
        // A larger field would remove all others from the table, and not be stored.
        if indexing == .incremental, fields.fields.size(at: position) > table.maximumSize { indexing = .without }
        if let index = index(of: position, in: fields.fields, staticIndex, indexing) {
            return buffer.append(integer: index, prefix: 7, 0x80)
        }
        let nameIndex = staticIndex ?? table.index(ofNameOf: position, in: fields.fields) ?? 0
        switch indexing {
        case .incremental: buffer.append(integer: nameIndex, prefix: 6, 0x40)
        case .without: buffer.append(integer: nameIndex, prefix: 4, 0)
        case .never: buffer.append(integer: nameIndex, prefix: 4, 0x10)
        }
        fields.fields.withField(at: position) { name, value in
            if nameIndex == 0 { buffer.append(string: name) }
            buffer.append(string: value)
        }
        if indexing == .incremental { table.insert(position, of: fields.fields) }
    }

    /// Returns the index that can be sent in place of a field, or nil.
    private func index(
        of position: Int, in fields: FieldQueue, _ staticIndex: Int?, _ indexing: FieldIndexing
    ) -> Int? {
        switch indexing {
        case .incremental: return table.index(of: position, in: fields, from: staticIndex)
        // Only the static table contains such fields, as `:path` with `/`.
        case .without: return staticIndex.flatMap { StaticTable.index(of: position, in: fields, from: $0) }
        case .never: return nil
        }
    }
}

extension [UInt8] {
    /// Appends an integer, which begins in the last `prefix` bits of the first byte, after `pattern` (RFC 7541 §5.1).
    fileprivate mutating func append(integer: Int, prefix: Int, _ pattern: UInt8) {
        let mask = 1 << prefix - 1
        guard integer >= mask else { return append(pattern | UInt8(truncatingIfNeeded: integer)) }
        append(pattern | UInt8(truncatingIfNeeded: mask))
        var remainder = integer - mask
        while remainder >= 0x80 {
            append(UInt8(truncatingIfNeeded: remainder) | 0x80)
            remainder >>= 7
        }
        append(UInt8(truncatingIfNeeded: remainder))
    }

    /// Appends a string, Huffman-coded if that is shorter (RFC 7541 §5.2).
    fileprivate mutating func append(string: Span<UInt8>) {
        let encodedCount = HuffmanCode.encodedCount(of: string)
        guard encodedCount < string.count else {
            append(integer: string.count, prefix: 7, 0)
            return string.withUnsafeBufferPointer { append(contentsOf: $0) }
        }
        append(integer: encodedCount, prefix: 7, 0x80)
        HuffmanCode.encode(string, into: &self)
    }
}
