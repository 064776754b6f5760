import Requests

/// The fields to which a header block can refer by their indices: the static table, then the dynamic one, the newest
/// field first (RFC 7541 §2.3.3).
struct HPACKTable: ~Copyable {
    /// The dynamic table, the oldest field first.
    private var fields = FieldQueue()
    /// The size of the dynamic table: for each field, the bytes of its name and value, and 32 (RFC 7541 §4.1).
    private(set) var size = 0
    /// The maximum size of the dynamic table; at first, the default of SETTINGS_HEADER_TABLE_SIZE.
    private(set) var maximumSize = 4096

    /// The indices of both tables.
    var indices: Range<Int> { 1..<StaticTable.count + fields.count + 1 }

    /// Removes the oldest fields until the dynamic table has at most `size` bytes, now and in future.
    mutating func resize(to size: Int) {
        maximumSize = size
        _ = evict(toInsert: 0)
    }

    /// Inserts the field in `text`, which consists of a name of `nameCount` bytes and the value.
    mutating func insert(_ text: [UInt8], nameCount: Int) {
        guard evict(toInsert: FieldQueue.size(nameCount: nameCount, valueCount: text.count - nameCount)) else { return }
        fields.append(nameCount: nameCount) { $0.append(contentsOf: text) }
    }

    mutating func insert(_ position: Int, of other: FieldQueue) {
        guard evict(toInsert: other.size(at: position)) else { return }
        fields.append(position, of: other)
    }

    /// Removes the oldest fields until one of `newSize` bytes can be inserted, and counts it.
    ///
    /// A field that is larger than the table leaves it empty, which is not an error (RFC 7541 §4.4).
    ///
    /// - Returns: False if the field is larger.
    private mutating func evict(toInsert newSize: Int) -> Bool {
        while fields.count > 0, size + newSize > maximumSize {
            size -= fields.size(at: 0)
            fields.removeFirst()
        }
        guard newSize <= maximumSize else { return false }
        size += newSize
        return true
    }

    /// Returns the position in the dynamic table of an index that is above the static table.
    private func position(of index: Int) -> Int { StaticTable.count + fields.count - index }
}

// MARK: Reading

extension HPACKTable {
    /// Returns the size of the field at `index`, which must be one of the indices.
    func size(at index: Int) -> Int {
        index <= StaticTable.count ? StaticTable.fields.size(at: index - 1) : fields.size(at: position(of: index))
    }

    /// Appends the name of the field at `index`, which must be one of the indices, to `buffer`.
    func appendName(at index: Int, to buffer: inout [UInt8]) {
        if index <= StaticTable.count {
            StaticTable.fields.appendName(at: index - 1, to: &buffer)
        } else {
            fields.appendName(at: position(of: index), to: &buffer)
        }
    }

    /// Appends the field at `index`, which must be one of the indices, to `writer`; returns false if the fields would
    /// be larger than 2 GiB.
    func append(at index: Int, to writer: inout ReceivedFields.Writer) -> Bool {
        index <= StaticTable.count
            ? StaticTable.fields.append(at: index - 1, to: &writer)
            : fields.append(at: position(of: index), to: &writer)
    }
}

// MARK: Finding

extension HPACKTable {
    /// Returns the index of the field at `position` of the dynamic table.
    private func index(of position: Int) -> Int { StaticTable.count + fields.count - position }

    /// Returns the index of a field that equals the one at `position` of `other`, or nil.
    ///
    /// - Parameters:
    ///   - position: The position of the field in `other`.
    ///   - other: The fields.
    ///   - staticIndex: The first index of the name in the static table, or nil if the name is not there.
    /// - Returns: The index.
    func index(of position: Int, in other: FieldQueue, from staticIndex: Int?) -> Int? {
        if let staticIndex, let index = StaticTable.index(of: position, in: other, from: staticIndex) { return index }
        return fields.lastPosition(of: position, in: other).map { index(of: $0) }
    }

    /// Returns the index of a field in the dynamic table with the same name as the field at `position` in `other`; nil
    /// if there is none.
    func index(ofNameOf position: Int, in other: FieldQueue) -> Int? {
        fields.lastPosition(ofNameOf: position, in: other).map { index(of: $0) }
    }
}
