/// The fields of a section as they were received.
///
/// Their bytes are in one buffer, from which a field is created on access.
///
/// Most fields of a response are never read, so one allocation is sufficient for a head (decision 0015).
package struct ReceivedFields: @unchecked Sendable {  // the memory is written only while one value refers to it
    /// The capacity of the memory, and the numbers of fields and of bytes of text in it.
    package struct Counts {
        let capacity: Int
        var fields = 0
        var text = 0
    }

    /// The location of a field's name and value in the text.
    package struct Location {
        let start: UInt32
        let nameCount: UInt32
        let valueStart: UInt32
        var valueCount: UInt32
        var isASCII: Bool

        init(start: UInt32, nameCount: UInt32, valueStart: UInt32, valueCount: UInt32, isASCII: Bool) {
            self.start = start
            self.nameCount = nameCount
            self.valueStart = valueStart
            self.valueCount = valueCount
            self.isASCII = isASCII
        }
    }

    /// A buffer with the text from the beginning, and the locations backwards from the end.
    package typealias Memory = ManagedBuffer<Counts, UInt8>

    var memory: Memory

    init(_ memory: Memory) {
        self.memory = memory
    }

    // Through a pointer, because each access to a property of a class has a dynamic exclusivity check.
    var counts: Counts { memory.withUnsafeMutablePointerToHeader { $0.pointee } }

    /// The number of fields.
    package var count: Int { counts.fields }

    /// Removes the fields whose names satisfy `condition`; their text stays in the memory.
    mutating func removeAll(where condition: (Field.Name) -> Bool) {
        guard let first = (0..<count).first(where: { condition(name(at: $0)) }) else { return }
        if !isKnownUniquelyReferenced(&memory) { memory = Self.memory(of: counts.capacity, copying: memory) }
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

    /// Removes the first `removed` fields, or all if there are fewer; their text stays in the memory.
    package mutating func removeFirst(_ removed: Int) {
        guard removed > 0 else { return }
        if !isKnownUniquelyReferenced(&memory) { memory = Self.memory(of: counts.capacity, copying: memory) }
        memory.withUnsafeMutablePointers { counts, bytes in
            let kept = max(0, counts.pointee.fields - removed)
            let (end, stride) = (bytes + counts.pointee.capacity, MemoryLayout<Location>.stride)
            // The locations of the last fields are the first ones in the memory.
            let first = end - counts.pointee.fields * stride
            (end - kept * stride).update(from: first, count: kept * stride)
            counts.pointee.fields = kept
        }
    }

    /// Returns new memory of `capacity` bytes with the content of `old`, which must not be larger.
    static func memory(of capacity: Int, copying old: Memory?) -> Memory {
        let memory = Memory.create(minimumCapacity: capacity) { _ in Counts(capacity: capacity) }
        old?.withUnsafeMutablePointers { oldCounts, oldBytes in
            memory.withUnsafeMutablePointers { counts, bytes in
                counts.pointee.text = oldCounts.pointee.text
                counts.pointee.fields = oldCounts.pointee.fields
                bytes.update(from: oldBytes, count: counts.pointee.text)
                let locations = counts.pointee.fields * MemoryLayout<Location>.stride
                (bytes + capacity - locations).update(
                    from: oldBytes + oldCounts.pointee.capacity - locations, count: locations)
            }
        }
        return memory
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
                : Field(name: name, valueBytes: value)
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

    /// The total number of bytes in all names and values.
    var byteCount: Int {
        (0..<count).reduce(0) { $0 + withBytes(at: $1) { name, value, _ in name.count + value.count } }
    }

    /// Returns the value of the field at `position`, which must be a valid index.
    package func value(at position: Int) -> String {
        withBytes(at: position) { _, value, isASCII in
            isASCII ? String(decoding: value, as: UTF8.self) : Field(name: "", valueBytes: value).value
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

    /// Calls `read` with the bytes of a field, and returns its result.
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
