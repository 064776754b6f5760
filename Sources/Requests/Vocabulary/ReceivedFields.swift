/// The fields of a section as they were received: their bytes in one piece, each field made when it is asked for.
///
/// Most fields of most responses never are, and so one allocation does for a head.
package struct ReceivedFields: @unchecked Sendable {  // the memory is written only while one value refers to it
    private struct Counts {
        let capacity: Int
        var fields = 0
        var text = 0
    }

    /// Where a field's name and value lie in the text.
    private struct Mark {
        let start: UInt32
        let nameCount: UInt32
        let valueStart: UInt32
        let valueCount: UInt32
        let isASCII: Bool
    }

    /// The text from the beginning on, the marks from the end backwards.
    private typealias Memory = ManagedBuffer<Counts, UInt8>

    private var memory: Memory

    /// A section without fields and with room for about `text` bytes.
    package init(roomForText text: Int) {
        memory = Self.memory(of: text + 8 * MemoryLayout<Mark>.stride)
    }

    private static func memory(of capacity: Int) -> Memory {
        Memory.create(minimumCapacity: capacity) { _ in Counts(capacity: capacity) }
    }

    // By its address, because each access to a property of a class is checked to be alone.
    private var counts: Counts { memory.withUnsafeMutablePointerToHeader { $0.pointee } }

    /// How many there are.
    package var count: Int { counts.fields }

    /// Appends a field whose name and value lie so in text that follows: it may not be read before ``append(text:)``.
    ///
    /// False when there would be more of them than 2 GiB.
    @inline(__always)
    package mutating func append(name: Range<Int>, value: Range<Int>, isASCII: Bool) -> Bool {
        let (counts, stride) = (counts, MemoryLayout<Mark>.stride)
        let end = counts.text &+ value.upperBound
        guard name.lowerBound >= 0, name.upperBound <= value.lowerBound, end <= Int32.max else { return false }
        if !hasRoom(for: counts.text &+ (counts.fields &+ 1) &* stride) { return false }
        let mark = Mark(
            start: UInt32(truncatingIfNeeded: counts.text &+ name.lowerBound),
            nameCount: UInt32(truncatingIfNeeded: name.count),
            valueStart: UInt32(truncatingIfNeeded: counts.text &+ value.lowerBound),
            valueCount: UInt32(truncatingIfNeeded: value.count), isASCII: isASCII)
        memory.withUnsafeMutablePointers { counts, bytes in
            counts.pointee.fields &+= 1
            UnsafeMutableRawPointer(bytes + counts.pointee.capacity - counts.pointee.fields &* stride)
                .storeBytes(of: mark, as: Mark.self)
        }
        return true
    }

    /// Appends the text that the fields appended since the last one lie in; false when that would be more than 2 GiB.
    package mutating func append(text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard hasRoom(for: counts.text + text.count + counts.fields * MemoryLayout<Mark>.stride) else { return false }
        memory.withUnsafeMutablePointers { counts, bytes in
            _ = UnsafeMutableBufferPointer(start: bytes + counts.pointee.text, count: text.count)
                .initialize(fromContentsOf: text)
            counts.pointee.text += text.count
        }
        return true
    }

    /// Appends a field of the parts given; false when there would be more of them than 2 GiB.
    package mutating func append(name: some Collection<UInt8>, value: some Collection<UInt8>) -> Bool {
        let line = Array(name) + Array(value)
        return append(name: 0..<name.count, value: name.count..<line.count, isASCII: false)
            && line.withUnsafeBufferPointer { append(text: $0) }
    }

    /// Makes sure that `needed` bytes can be held, in memory of its own; false when that is too much.
    private mutating func hasRoom(for needed: Int) -> Bool {
        guard needed <= Int32.max else { return false }
        if needed > counts.capacity || !isKnownUniquelyReferenced(&memory) { grow(toHold: needed) }
        return true
    }

    /// Takes away the last, if there is one.
    package mutating func removeLast() {
        guard count > 0 else { return }
        if !isKnownUniquelyReferenced(&memory) { grow(toHold: counts.capacity) }
        memory.withUnsafeMutablePointerToHeader { $0.pointee.fields -= 1 }
    }

    /// Moves to memory of its own that holds `needed` bytes, and as much again when it has to be more.
    private mutating func grow(toHold needed: Int) {
        let old = memory
        let (counts, stride) = (counts, MemoryLayout<Mark>.stride)
        let capacity = needed > counts.capacity ? 2 * needed : counts.capacity
        memory = Self.memory(of: capacity)
        memory.withUnsafeMutablePointers { newCounts, bytes in
            newCounts.pointee.text = counts.text
            newCounts.pointee.fields = counts.fields
            old.withUnsafeMutablePointerToElements { oldBytes in
                bytes.update(from: oldBytes, count: counts.text)
                let marks = counts.fields * stride
                (bytes + capacity - marks).update(from: oldBytes + counts.capacity - marks, count: marks)
            }
        }
    }
}

// MARK: Reading

extension ReceivedFields {
    /// The field at `position`, which must be one of them.
    package subscript(position: Int) -> Field {
        withBytes(at: position) { name, value, isASCII in
            let name = Field.Name(String(decoding: name, as: UTF8.self))
            return isASCII
                ? Field(name: name, value: String(decoding: value, as: UTF8.self))
                : Field(name: name, receivedBytes: value)
        }
    }

    /// The value of the field at `position`, which must be one of them.
    package func value(at position: Int) -> String {
        withBytes(at: position) { _, value, isASCII in
            isASCII ? String(decoding: value, as: UTF8.self) : Field(name: "", receivedBytes: value).value
        }
    }

    /// The position of the first field called `name`, from `start` on.
    func firstIndex(of name: Field.Name, from start: Int = 0) -> Int? {
        var name = name.rawValue
        return name.withUTF8 { name in
            (start..<max(start, count)).first { position in
                withBytes(at: position) { own, _, _ in ASCIIFolding.areEqual(own, name) }
            }
        }
    }

    /// What `read` makes of the bytes of name and value at `position`, which must be one of them, and of whether the
    /// value is ASCII.
    package func withBytes<Result>(
        at position: Int, _ read: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>, Bool) -> Result
    ) -> Result {
        memory.withUnsafeMutablePointers { counts, bytes in
            precondition(position >= 0 && position < counts.pointee.fields, "no field is at \(position)")
            let place = counts.pointee.capacity - (position + 1) * MemoryLayout<Mark>.stride
            let mark = UnsafeRawPointer(bytes + place).loadUnaligned(as: Mark.self)
            return read(
                UnsafeBufferPointer(start: bytes + Int(mark.start), count: Int(mark.nameCount)),
                UnsafeBufferPointer(start: bytes + Int(mark.valueStart), count: Int(mark.valueCount)), mark.isASCII)
        }
    }
}
