import Requests

/// A queue of fields, with their text in one buffer.
///
/// Removed fields stay in the arrays until they make up half of them, so a removal takes constant time on average.
/// Unlike in a ring buffer, the text of a field is always contiguous.
package struct FieldQueue: Sendable {
    private struct Entry {
        /// The number of bytes of text that had been appended before this field.
        var start: Int
        var nameCount: Int
        var valueCount: Int
        /// A hash value, which differs for most fields that differ.
        var hash: UInt32
    }

    private var entries: [Entry] = []
    private var text: [UInt8] = []
    /// The number of removed fields that are still in `entries`.
    private var removedEntries = 0
    /// The number of bytes of text that were removed from `text`.
    private var removedText = 0

    package init() {}

    package var count: Int { entries.count - removedEntries }

    /// The numbers of fields and of bytes of text in memory, including those that were removed.
    package var stored: (fields: Int, text: Int) { (entries.count, text.count) }

    mutating func reserveCapacity(_ fields: Int, ofText text: Int) {
        entries.reserveCapacity(fields)
        self.text.reserveCapacity(text)
    }

    /// Appends a field whose name, of `nameCount` bytes, and value are appended by `appendText`.
    package mutating func append(nameCount: Int, _ appendText: (inout [UInt8]) -> Void) {
        let start = text.count
        appendText(&text)
        let hash = Self.hash(of: text.span.extracting(start...), nameCount: nameCount)
        entries.append(
            Entry(
                start: removedText + start, nameCount: nameCount, valueCount: text.count - start - nameCount,
                hash: hash))
    }

    mutating func append(_ position: Int, of other: FieldQueue) {
        let (name, value) = other.ranges(at: position)
        append(nameCount: name.count) { $0.append(contentsOf: other.text[name.lowerBound..<value.upperBound]) }
    }

    /// Removes the first field; there must be one.
    package mutating func removeFirst() {
        removedEntries += 1
        if removedEntries * 2 > entries.count {
            entries.removeFirst(removedEntries)
            removedEntries = 0
        }
        let unusedText = count == 0 ? text.count : entries[removedEntries].start - removedText
        if unusedText * 2 > text.count {
            text.removeFirst(unusedText)
            removedText += unusedText
        }
    }

    /// Returns a number for the text of a field: its counts and its last four bytes, which differ most.
    private static func hash(of text: Span<UInt8>, nameCount: Int) -> UInt32 {
        var hash = UInt32(truncatingIfNeeded: text.count &<< 8 ^ nameCount)
        for position in max(0, text.count - 4)..<text.count { hash = hash &* 0x0101 ^ UInt32(text[position]) }
        return hash
    }
}

// MARK: Reading

extension FieldQueue {
    /// Returns the size of a field for the limits of tables and lists (RFC 7541 §4.1).
    static func size(nameCount: Int, valueCount: Int) -> Int { nameCount + valueCount + 32 }

    func size(at position: Int) -> Int {
        let entry = entries[removedEntries + position]
        return Self.size(nameCount: entry.nameCount, valueCount: entry.valueCount)
    }

    func nameCount(at position: Int) -> Int { entries[removedEntries + position].nameCount }

    func valueCount(at position: Int) -> Int { entries[removedEntries + position].valueCount }

    /// Returns the ranges of the name and the value of the field at `position` in the text.
    private func ranges(at position: Int) -> (name: Range<Int>, value: Range<Int>) {
        let entry = entries[removedEntries + position]
        let start = entry.start - removedText
        let middle = start + entry.nameCount
        return (start..<middle, middle..<middle + entry.valueCount)
    }

    /// Calls `read` with the name and the value of the field at `position`, and returns its result.
    package func withField<Result>(at position: Int, _ read: (Span<UInt8>, Span<UInt8>) -> Result) -> Result {
        let (name, value) = ranges(at: position)
        let span = text.span
        return read(span.extracting(name), span.extracting(value))
    }

    func appendName(at position: Int, to buffer: inout [UInt8]) {
        buffer.append(contentsOf: text[ranges(at: position).name])
    }

    /// Appends the field at `position` to `writer`; returns false if the fields would be larger than 2 GiB.
    func append(at position: Int, to writer: inout ReceivedFields.Writer) -> Bool {
        let (name, value) = ranges(at: position)
        let span = text.span
        return writer.append(name: span.extracting(name), value: span.extracting(value))
    }
}

// MARK: Finding

extension FieldQueue {
    /// Returns the position of the last field that equals the field at `otherPosition` in `other`; nil if there is
    /// none.
    func lastPosition(of otherPosition: Int, in other: FieldQueue) -> Int? {
        let entry = other.entries[other.removedEntries + otherPosition]
        var position = count
        while position > 0 {
            position -= 1
            let candidate = entries[removedEntries + position]
            if candidate.hash == entry.hash, candidate.nameCount == entry.nameCount,
                isEqual(at: position, to: otherPosition, of: other)
            {
                return position
            }
        }
        return nil
    }

    private func isEqual(at position: Int, to otherPosition: Int, of other: FieldQueue) -> Bool {
        let (name, value) = ranges(at: position)
        let (otherName, otherValue) = other.ranges(at: otherPosition)
        return text.span.extracting(name.lowerBound..<value.upperBound).hasSameBytes(
            as: other.text.span.extracting(otherName.lowerBound..<otherValue.upperBound))
    }

    /// Returns the position of the last field with the same name as the field at `otherPosition` in `other`; nil if
    /// there is none.
    func lastPosition(ofNameOf otherPosition: Int, in other: FieldQueue) -> Int? {
        (0..<count).last { hasName(of: otherPosition, in: other, at: $0) }
    }

    func hasName(of otherPosition: Int, in other: FieldQueue, at position: Int) -> Bool {
        let (range, otherRange) = (ranges(at: position).name, other.ranges(at: otherPosition).name)
        return text.span.extracting(range).hasSameBytes(as: other.text.span.extracting(otherRange))
    }

    func hasValue(of otherPosition: Int, in other: FieldQueue, at position: Int) -> Bool {
        let (range, otherRange) = (ranges(at: position).value, other.ranges(at: otherPosition).value)
        return text.span.extracting(range).hasSameBytes(as: other.text.span.extracting(otherRange))
    }
}

extension Span<UInt8> {
    fileprivate func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for position in indices where self[position] != other[position] { return false }
        return true
    }
}
