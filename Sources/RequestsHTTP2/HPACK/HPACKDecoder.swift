package import Requests

/// A decoder of the header blocks of one direction of a connection (RFC 7541).
///
/// A block arrives in fragments, which are decoded as they arrive. After a malformed block, or one that is too large,
/// the decoder must not be used again.
package struct HPACKDecoder: ~Copyable {
    /// The maximum capacity of an unused buffer that is kept for the next block.
    private static let keptCapacity = 16 << 10
    /// The maximum number of bytes copied only for the table, as a multiple of the limit for the list.
    ///
    /// An index of two bytes can copy 4 KiB.
    private static let copiedLimits = 64

    private var table = HPACKTable()
    /// The maximum table size that the peer has acknowledged.
    private var maximumTableSize = 4096
    /// The lowest limit since the last block, if the peer must reduce the table before the next field.
    private var requiredTableSize: Int?

    /// The bytes of a field that the preceding fragment has begun.
    private var unfinished: [UInt8] = []
    /// The text of the field that is being decoded.
    private var text: [UInt8] = []
    /// The size in bytes of the fragments of this block.
    private var blockSize = 0
    /// The size of the decoded fields of this block, including those that are not kept because they are too large.
    private var listSize = 0
    /// The number of bytes of the fields of this block that were copied only for the table.
    private var copiedBytes = 0
    /// Whether a field of this block was read.
    private var hasFields = false

    package init() {}

    /// Sets the limit of the table; call it when the peer has acknowledged the SETTINGS_HEADER_TABLE_SIZE that
    /// announced the limit.
    package mutating func setMaximumTableSize(_ size: Int) {
        maximumTableSize = size
        if size < table.maximumSize { requiredTableSize = min(size, requiredTableSize ?? size) }
    }

    /// Decodes a fragment: the payload of a HEADERS or CONTINUATION frame without padding and priority.
    ///
    /// Nothing is validated beyond RFC 7541; for example, a name may be empty or contain any bytes.
    ///
    /// - Parameters:
    ///   - fragment: The bytes of the fragment, which may be empty.
    ///   - endsBlock: Whether the fragment is the last one of its block.
    ///   - limit: The maximum size of all fields of the block in bytes: their names and values, and 32 bytes for each
    ///     field. Pass the same for all fragments of a block.
    ///   - fields: The fields of the block so far, nil before its first fragment. Complete fields of the fragment are
    ///     appended.
    /// - Throws: `HPACKError.listTooLarge` only for the last fragment of a block; the others as soon as they occur.
    ///   `fields` is then nil.
    package mutating func decode(
        _ fragment: Span<UInt8>, endsBlock: Bool, limit: Int, into fields: inout ReceivedFields?
    ) throws(HPACKError) {
        var writer = ReceivedFields.Writer(taking: &fields, from: 0)
        blockSize += fragment.count
        // A list within the limit has a smaller block, unless its encoder wastes bytes. A list slightly above the limit
        // must not end the connection (decision 0075).
        guard blockSize - limit <= limit else { throw .blockTooLarge(limit: limit) }
        if unfinished.isEmpty {
            let end = try decodeFields(in: fragment, limit, &writer)
            fragment.extracting(end...).withUnsafeBufferPointer { unfinished.append(contentsOf: $0) }
        } else {
            fragment.withUnsafeBufferPointer { unfinished.append(contentsOf: $0) }
            var bytes: [UInt8] = []
            swap(&bytes, &unfinished)
            bytes.removeFirst(try decodeFields(in: bytes.span, limit, &writer))
            unfinished = bytes
        }
        if endsBlock { try endBlock(limit) }
        fields = writer.finish()
    }

    /// Checks the end of a block, and prepares for the next one.
    private mutating func endBlock(_ limit: Int) throws(HPACKError) {
        guard unfinished.isEmpty else { throw .malformed(.truncated) }
        let isTooLarge = listSize > limit
        (blockSize, listSize, copiedBytes, hasFields) = (0, 0, 0, false)
        if unfinished.capacity > Self.keptCapacity { unfinished = [] }
        if text.capacity > Self.keptCapacity { text = [] }
        if isTooLarge { throw .listTooLarge(limit: limit) }
    }

    /// Decodes the complete fields in `bytes`, and returns the position after the last one.
    private mutating func decodeFields(
        in bytes: Span<UInt8>, _ limit: Int, _ writer: inout ReceivedFields.Writer
    ) throws(HPACKError) -> Int {
        var reader = BlockReader()
        while let representation = try reader.next(in: bytes) {
            switch representation {
            case .tableSize(let size): try resizeTable(to: size)
            case .indexed(let index):
                try beginField(&writer)
                try decodeField(at: index, limit, &writer)
            case .literal(let name, let value, let isInserted):
                try beginField(&writer)
                try decodeField(name, value, in: bytes, isInserted: isInserted, limit, &writer)
            }
        }
        return reader.position
    }

    /// Changes the size of the table as the peer has done (RFC 7541 §4.2).
    private mutating func resizeTable(to size: Int) throws(HPACKError) {
        guard !hasFields else { throw .malformed(.lateTableSize) }
        guard size <= requiredTableSize ?? maximumTableSize else { throw .malformed(.tableSize) }
        requiredTableSize = nil
        table.resize(to: size)
    }
}

// MARK: Fields

extension HPACKDecoder {
    /// Checks the size of the table before a field, and reserves memory before the first one.
    private mutating func beginField(_ writer: inout ReceivedFields.Writer) throws(HPACKError) {
        guard requiredTableSize == nil else { throw .malformed(.missingTableSize) }
        // This suffices for most blocks.
        if !hasFields { writer.reserveCapacity(ofText: 256) }
        hasFields = true
    }

    private mutating func decodeField(
        at index: Int, _ limit: Int, _ writer: inout ReceivedFields.Writer
    ) throws(HPACKError) {
        guard table.indices.contains(index) else { throw .malformed(.index) }
        listSize += table.size(at: index)
        guard listSize <= limit else { return }
        guard table.append(at: index, to: &writer) else { throw .blockTooLarge(limit: limit) }
    }

    private mutating func decodeField(
        _ name: BlockReader.Name, _ value: BlockReader.StringLiteral, in bytes: Span<UInt8>, isInserted: Bool,
        _ limit: Int, _ writer: inout ReceivedFields.Writer
    ) throws(HPACKError) {
        text.removeAll(keepingCapacity: true)
        let isKept = listSize <= limit
        guard isKept || isInserted else { return try checkField(name, value, in: bytes) }
        switch name {
        case .indexed(let index):
            guard table.indices.contains(index) else { throw .malformed(.index) }
            // Copied before the field is inserted, which may remove the one with this index.
            table.appendName(at: index, to: &text)
        case .literal(let name): try decode(name, in: bytes)
        }
        let nameCount = text.count
        try decode(value, in: bytes)
        if isInserted { table.insert(text, nameCount: nameCount) }
        guard isKept else {
            copiedBytes += text.count
            guard copiedBytes / Self.copiedLimits <= limit else { throw .blockTooLarge(limit: limit) }
            return
        }
        listSize += FieldQueue.size(nameCount: nameCount, valueCount: text.count - nameCount)
        guard listSize <= limit else { return }
        let span = text.span
        guard writer.append(name: span.extracting(..<nameCount), value: span.extracting(nameCount...)) else {
            throw .blockTooLarge(limit: limit)
        }
    }

    /// Checks a literal that neither the list nor the table contains, because the list is too large.
    private mutating func checkField(
        _ name: BlockReader.Name, _ value: BlockReader.StringLiteral, in bytes: Span<UInt8>
    ) throws(HPACKError) {
        switch name {
        case .indexed(let index): guard table.indices.contains(index) else { throw .malformed(.index) }
        case .literal(let name): if name.isHuffmanCoded { try decode(name, in: bytes) }
        }
        if value.isHuffmanCoded { try decode(value, in: bytes) }
    }

    /// Appends a string to the text.
    private mutating func decode(_ string: BlockReader.StringLiteral, in bytes: Span<UInt8>) throws(HPACKError) {
        let code = bytes.extracting(string.range)
        if string.isHuffmanCoded {
            guard HuffmanCode.decode(code, into: &text) else { throw .malformed(.huffman) }
        } else {
            code.withUnsafeBufferPointer { text.append(contentsOf: $0) }
        }
    }
}
