extension ReceivedFields {
    /// The fields of a section while it is read.
    ///
    /// A writer cannot be copied, and no other value refers to its memory, so appending needs no check for that.
    package struct Writer: ~Copyable {
        /// The memory, whose counts are updated by ``storeCounts()``; nil before the first field.
        var memory: Memory?
        var capacity = 0
        /// The number of fields.
        package private(set) var count = 0
        /// The number of bytes of text.
        var text = 0
        /// The distance from the position of a byte in the received bytes to its position in the text.
        var distance: Int
    }
}

extension ReceivedFields.Writer {
    typealias Location = ReceivedFields.Location

    /// Creates a writer that takes over `fields`, which becomes nil; if it is nil already, the writer begins a section.
    ///
    /// The next text begins at position `start` of the received bytes.
    package init(taking fields: inout ReceivedFields?, from start: Int) {
        memory = fields?.memory
        distance = 0 &- start
        fields = nil
        if memory != nil { takeMemory() }
    }

    /// Reads the counts from the memory, and copies the memory if another value refers to it.
    mutating func takeMemory() {
        guard let counts = memory?.withUnsafeMutablePointerToHeader({ $0.pointee }) else { return }
        if !isKnownUniquelyReferenced(&memory) {
            memory = ReceivedFields.memory(of: counts.capacity, copying: memory)
        }
        (capacity, count, text) = (counts.capacity, counts.fields, counts.text)
        distance &+= text
    }

    /// Returns the fields, or nil if there are none.
    package consuming func finish() -> ReceivedFields? {
        storeCounts()
        return memory.map { ReceivedFields($0) }
    }

    /// Stores the counts in the memory.
    func storeCounts() {
        memory?.withUnsafeMutablePointerToHeader {
            $0.pointee.fields = count
            $0.pointee.text = text
        }
    }

    /// Provides capacity for `text` bytes of text and eight fields.
    package mutating func reserveCapacity(ofText text: Int) {
        _ = ensureCapacity(text + 8 * MemoryLayout<Location>.stride)
    }

    /// Appends a field by the location of its name and value in the received bytes, whose text is appended later.
    ///
    /// - Parameters:
    ///   - name: The range of the name, after the text that has been appended.
    ///   - value: The range of the value, after the name.
    ///   - isASCII: Whether the value is known to be ASCII.
    /// - Returns: False, without appending, if the section would be larger than 2 GiB or the ranges are invalid.
    package mutating func append(name: Range<Int>, value: Range<Int>, isASCII: Bool) -> Bool {
        let stride = MemoryLayout<Location>.stride
        guard name.lowerBound >= text &- distance, name.upperBound <= value.lowerBound,
            value.upperBound <= Int(Int32.max) &- distance, ensureCapacity(text &+ (count &+ 1) &* stride)
        else { return false }
        // The conversions cannot truncate: the end of the value in the text is at most `Int32.max`.
        let location = Location(
            start: UInt32(truncatingIfNeeded: name.lowerBound &+ distance),
            nameCount: UInt32(truncatingIfNeeded: name.upperBound &- name.lowerBound),
            valueStart: UInt32(truncatingIfNeeded: value.lowerBound &+ distance),
            valueCount: UInt32(truncatingIfNeeded: value.upperBound &- value.lowerBound), isASCII: isASCII)
        append(location)
        return true
    }

    /// Appends a location for which there is capacity.
    private mutating func append(_ location: Location) {
        count &+= 1
        memory?.withUnsafeMutablePointerToElements {
            UnsafeMutableRawPointer($0 + (capacity &- count &* MemoryLayout<Location>.stride))
                .storeBytes(of: location, as: Location.self)
        }
    }

    /// Appends the text before position `end` of the received `bytes` that has not been appended, if there are fields.
    ///
    /// - Returns: False, without appending, if the section would be larger than 2 GiB.
    package mutating func appendText(of bytes: Span<UInt8>, upTo end: Int) -> Bool {
        let start = text - distance
        guard end > start, count > 0 else {
            distance = text - end
            return true
        }
        guard ensureCapacity(text + (end - start) + count * MemoryLayout<Location>.stride) else { return false }
        append(bytes.extracting(start..<end))
        return true
    }

    /// Appends a field whose text is not in the received bytes, such as one that was compressed.
    ///
    /// The text of all fields before it must have been appended.
    ///
    /// - Returns: False, without appending, if the section would be larger than 2 GiB.
    package mutating func append(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        let (start, valueStart) = (text, text &+ name.count)
        let end = valueStart &+ value.count
        guard ensureCapacity(end &+ (count &+ 1) &* MemoryLayout<Location>.stride) else { return false }
        var bits: UInt8 = 0
        for position in value.indices { bits |= value[unchecked: position] }
        append(name)
        append(value)
        // The received bytes continue where they were.
        distance &+= end &- start
        append(
            Location(
                start: UInt32(start), nameCount: UInt32(name.count), valueStart: UInt32(valueStart),
                valueCount: UInt32(value.count), isASCII: bits < 0x80))
        return true
    }

    /// Appends text for which there is capacity.
    private mutating func append(_ newText: Span<UInt8>) {
        newText.withUnsafeBufferPointer { newText in
            memory?.withUnsafeMutablePointerToElements {
                _ = UnsafeMutableBufferPointer(start: $0 + text, count: newText.count)
                    .initialize(fromContentsOf: newText)
            }
        }
        text += newText.count
    }

    /// Appends SP and the `folded` bytes to the value of the last field; to an empty value, only the bytes.
    ///
    /// The text of the last field must have been appended; the next text begins at position `end` of the bytes.
    ///
    /// - Parameters:
    ///   - folded: The bytes of a folded line.
    ///   - isASCII: Whether they are known to be ASCII.
    ///   - end: The position after the line.
    /// - Returns: False, without appending, if there is no field, or if the section would be larger than 2 GiB.
    package mutating func extendLast(with folded: Span<UInt8>, isASCII: Bool, upTo end: Int) -> Bool {
        let stride = MemoryLayout<Location>.stride
        guard count > 0, ensureCapacity(text + 1 + folded.count + count * stride) else { return false }
        let offset = capacity - count * stride
        guard
            var location = memory?.withUnsafeMutablePointerToElements({
                UnsafeRawPointer($0 + offset).loadUnaligned(as: Location.self)
            })
        else { return false }
        // The text after the value, such as the line end, belongs to no other field.
        text = Int(location.valueStart + location.valueCount)
        if location.valueCount > 0 {
            memory?.withUnsafeMutablePointerToElements { $0[text] = 0x20 }
            text += 1
        }
        append(folded)
        location.valueCount = UInt32(text) - location.valueStart
        location.isASCII = location.isASCII && isASCII
        memory?.withUnsafeMutablePointerToElements {
            UnsafeMutableRawPointer($0 + offset).storeBytes(of: location, as: Location.self)
        }
        distance = text - end
        return true
    }

    /// Calls `read` with the value of the last field, and returns its result; nil if there is no field.
    ///
    /// The text of the field must have been appended.
    package func withLastValue<Result>(_ read: (UnsafeBufferPointer<UInt8>) -> Result) -> Result? {
        storeCounts()
        guard count > 0, let memory else { return nil }
        return ReceivedFields(memory).withBytes(at: count - 1) { _, value, _ in read(value) }
    }

    /// Ensures that the memory has a capacity of `needed` bytes; returns false if they are more than 2 GiB.
    mutating func ensureCapacity(_ needed: Int) -> Bool {
        needed <= capacity || grow(to: needed)
    }

    /// Moves the fields to memory of twice `needed` bytes, but at most 2 GiB; returns false if `needed` is more.
    mutating func grow(to needed: Int) -> Bool {
        guard needed <= Int32.max else { return false }
        storeCounts()
        // The first memory is as large as requested.
        capacity = memory == nil ? needed : min(2 * needed, Int(Int32.max))
        memory = ReceivedFields.memory(of: capacity, copying: memory)
        return true
    }
}
