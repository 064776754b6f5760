/// The fields of a section as they were received: their bytes in one buffer, from which a field is created on access.
///
/// Most fields of a response are never read, so one allocation is sufficient for a head (decision 0015).
package struct ReceivedFields: @unchecked Sendable {  // the memory is written only while one value refers to it
    /// The capacity of the memory, and the number of fields and of bytes of text in it.
    private struct Counts {
        let capacity: Int
        var fields = 0
        var text = 0
    }

    /// The location of a field's name and value in the text.
    private struct Location {
        let start: UInt32
        let nameCount: UInt32
        let valueStart: UInt32
        let valueCount: UInt32
        let isASCII: Bool
    }

    /// The text from the beginning, and the locations backwards from the end.
    private typealias Memory = ManagedBuffer<Counts, UInt8>

    private var memory: Memory

    /// Creates an empty section with capacity for `text` bytes of text and eight fields.
    package init(roomForText text: Int) {
        memory = Self.memory(of: text + 8 * MemoryLayout<Location>.stride)
    }

    private static func memory(of capacity: Int) -> Memory {
        Memory.create(minimumCapacity: capacity) { _ in Counts(capacity: capacity) }
    }

    // Through a pointer, because each access to a property of a class has a dynamic exclusivity check.
    private var counts: Counts { memory.withUnsafeMutablePointerToHeader { $0.pointee } }

    /// The number of fields.
    package var count: Int { counts.fields }

    /// Appends a field by the location of its name and value in text that is appended later.
    ///
    /// The field must not be read before ``append(text:)``.
    ///
    /// - Parameters:
    ///   - name: The range of the name in the next text.
    ///   - value: The range of the value in the next text, after the name.
    ///   - isASCII: Whether the value is known to be ASCII.
    /// - Returns: False, without appending, if the section would be larger than 2 GiB or the ranges are invalid.
    @inline(__always)  // called for each field line of a response
    package mutating func append(name: Range<Int>, value: Range<Int>, isASCII: Bool) -> Bool {
        let (counts, stride) = (counts, MemoryLayout<Location>.stride)
        let end = counts.text &+ value.upperBound
        guard name.lowerBound >= 0, name.upperBound <= value.lowerBound, end <= Int32.max else { return false }
        if !ensureCapacity(counts.text &+ (counts.fields &+ 1) &* stride) { return false }
        // The conversions cannot truncate: `end` is at most `Int32.max` and all other numbers are at most `end`.
        let location = Location(
            start: UInt32(truncatingIfNeeded: counts.text &+ name.lowerBound),
            nameCount: UInt32(truncatingIfNeeded: name.count),
            valueStart: UInt32(truncatingIfNeeded: counts.text &+ value.lowerBound),
            valueCount: UInt32(truncatingIfNeeded: value.count), isASCII: isASCII)
        memory.withUnsafeMutablePointers { counts, bytes in
            counts.pointee.fields &+= 1
            UnsafeMutableRawPointer(bytes + counts.pointee.capacity - counts.pointee.fields &* stride)
                .storeBytes(of: location, as: Location.self)
        }
        return true
    }

    /// Appends the text of the fields appended since the previous text.
    ///
    /// - Parameter text: The bytes that the ranges of those fields refer to.
    /// - Returns: False, without appending, if the section would be larger than 2 GiB.
    package mutating func append(text: UnsafeBufferPointer<UInt8>) -> Bool {
        let needed = counts.text + text.count + counts.fields * MemoryLayout<Location>.stride
        guard ensureCapacity(needed) else { return false }
        memory.withUnsafeMutablePointers { counts, bytes in
            _ = UnsafeMutableBufferPointer(start: bytes + counts.pointee.text, count: text.count)
                .initialize(fromContentsOf: text)
            counts.pointee.text += text.count
        }
        return true
    }

    /// Appends a field.
    ///
    /// - Parameters:
    ///   - name: The bytes of the name.
    ///   - value: The bytes of the value.
    /// - Returns: False, without appending, if the section would be larger than 2 GiB.
    package mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) -> Bool {
        let line = Array(name) + Array(value)
        return append(name: 0..<name.count, value: name.count..<line.count, isASCII: false)
            && line.withUnsafeBufferPointer { append(text: $0) }
    }

    /// Ensures that the memory has a capacity of `needed` bytes and is not shared; returns false above 2 GiB.
    private mutating func ensureCapacity(_ needed: Int) -> Bool {
        guard needed <= Int32.max else { return false }
        if needed > counts.capacity || !isKnownUniquelyReferenced(&memory) { moveToNewMemory(capacity: needed) }
        return true
    }

    /// Removes the last field, if there is one; its text stays in the memory.
    package mutating func removeLast() {
        guard count > 0 else { return }
        if !isKnownUniquelyReferenced(&memory) { moveToNewMemory(capacity: counts.capacity) }
        memory.withUnsafeMutablePointerToHeader { $0.pointee.fields -= 1 }
    }

    /// Removes the fields whose names satisfy `condition`; their text stays in the memory.
    mutating func removeAll(where condition: (Field.Name) -> Bool) {
        guard let first = (0..<count).first(where: { condition(name(at: $0)) }) else { return }
        if !isKnownUniquelyReferenced(&memory) { moveToNewMemory(capacity: counts.capacity) }
        var kept = first
        for position in first + 1..<count where !condition(name(at: position)) {
            memory.withUnsafeMutablePointers { counts, bytes in
                let (end, stride) = (bytes + counts.pointee.capacity, MemoryLayout<Location>.stride)
                (end - (kept + 1) * stride).update(from: end - (position + 1) * stride, count: stride)
            }
            kept += 1
        }
        memory.withUnsafeMutablePointerToHeader { $0.pointee.fields = kept }
    }

    /// Copies the content to new memory with the same capacity, or with twice `needed` if that is not sufficient.
    private mutating func moveToNewMemory(capacity needed: Int) {
        let old = memory
        let (counts, stride) = (counts, MemoryLayout<Location>.stride)
        let capacity = needed > counts.capacity ? 2 * needed : counts.capacity
        memory = Self.memory(of: capacity)
        memory.withUnsafeMutablePointers { newCounts, bytes in
            newCounts.pointee.text = counts.text
            newCounts.pointee.fields = counts.fields
            old.withUnsafeMutablePointerToElements { oldBytes in
                bytes.update(from: oldBytes, count: counts.text)
                let locations = counts.fields * stride
                (bytes + capacity - locations).update(from: oldBytes + counts.capacity - locations, count: locations)
            }
        }
    }
}

// MARK: Reading

extension ReceivedFields {
    /// The field at `position`, which must be a valid index.
    package subscript(position: Int) -> Field {
        withBytes(at: position) { name, value, isASCII in
            let name = Field.Name(String(decoding: name, as: UTF8.self))
            return isASCII
                ? Field(name: name, value: String(decoding: value, as: UTF8.self))
                : Field(name: name, receivedBytes: value)
        }
    }

    /// Returns the name of the field at `position`, which must be a valid index.
    func name(at position: Int) -> Field.Name {
        withBytes(at: position) { name, _, _ in Field.Name(String(decoding: name, as: UTF8.self)) }
    }

    /// Whether all fields can be sent.
    var isValid: Bool {
        (0..<count).allSatisfy {
            withBytes(at: $0) { name, value, _ in Token.isToken(name) && Token.isFieldValue(value) }
        }
    }

    /// The number of bytes of all names and values.
    var byteCount: Int {
        (0..<count).reduce(0) { $0 + withBytes(at: $1) { name, value, _ in name.count + value.count } }
    }

    /// Returns the value of the field at `position`, which must be a valid index.
    package func value(at position: Int) -> String {
        withBytes(at: position) { _, value, isASCII in
            isASCII ? String(decoding: value, as: UTF8.self) : Field(name: "", receivedBytes: value).value
        }
    }

    /// Returns the position of the first field named `name` from `start` on, or nil if there is none.
    func firstIndex(of name: Field.Name, from start: Int = 0) -> Int? {
        var name = name.rawValue
        return name.withUTF8 { name in
            (start..<max(start, count)).first { position in
                withBytes(at: position) { fieldName, _, _ in ASCIIFolding.areEqual(fieldName, name) }
            }
        }
    }

    /// Returns the result of calling `read` with the bytes of a field.
    ///
    /// - Parameters:
    ///   - position: The position of the field, which must be a valid index.
    ///   - read: A function that receives the bytes of the name and of the value, which are valid only during the call,
    ///     and whether the value is known to be ASCII.
    /// - Returns: The result of `read`.
    package func withBytes<Result>(
        at position: Int, _ read: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>, Bool) -> Result
    ) -> Result {
        memory.withUnsafeMutablePointers { counts, bytes in
            precondition(position >= 0 && position < counts.pointee.fields, "field index \(position) is out of range")
            let offset = counts.pointee.capacity - (position + 1) * MemoryLayout<Location>.stride
            // Unaligned, because the capacity is any number of bytes.
            let location = UnsafeRawPointer(bytes + offset).loadUnaligned(as: Location.self)
            return read(
                UnsafeBufferPointer(start: bytes + Int(location.start), count: Int(location.nameCount)),
                UnsafeBufferPointer(start: bytes + Int(location.valueStart), count: Int(location.valueCount)),
                location.isASCII)
        }
    }
}
