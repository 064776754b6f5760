/// A writer of a path from its pieces, which needs no heap memory for paths of at most 128 bytes.
struct PathWriter: Sendable {
    /// The error of the path, or nil if it can be sent.
    private(set) var problem: PathProblem?
    /// The text of the template, once the positions of the values cannot express it.
    private(set) var template: String?
    /// The positions of the values, in the format of ``PathTemplate``.
    private(set) var places: UInt64 = 0
    /// The number of values in `places`.
    private(set) var count: UInt8 = 0

    private var segment = PathSegment()
    /// The value that makes the last segment invalid unless more text follows; or else the last raw text.
    private var suspect: String?
    /// The position after the last value.
    private var lastValueEnd = 0
    /// The text written before the content of `bytes`.
    private var beginning = ""
    private var bytes: Bytes = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    private var used = 0

    // A tuple is 128 bytes of inline storage; an array would be on the heap.
    private typealias Bytes = (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
        UInt64, UInt64
    )

    private var length: Int { beginning.utf8.count + used }

    /// The path written so far, percent-encoded.
    var path: String {
        beginning.isEmpty ? bytesText : used == 0 ? beginning : beginning + bytesText
    }

    private var bytesText: String {
        String(unsafeUninitializedCapacity: used) { memory in
            withUnsafeBytes(of: bytes) { memory.initialize(fromContentsOf: $0.prefix(used)) }
        }
    }

    /// Writes the text of a literal, which is trusted.
    mutating func write(literal text: String) {
        let start = length
        let isChanged = write(trusted: text)
        if isChanged, template == nil { template = template(upTo: start) }
        template? += text
    }

    /// Writes trusted text that is not a literal and counts as a value in the template.
    mutating func write(raw text: String) {
        let start = length
        write(trusted: text, isRaw: true)
        recordValue(from: start)
    }

    /// Writes a value, with every byte encoded except letters, digits and `- . _ ~`.
    mutating func write(value: String) {
        let start = length
        var text = value
        text.withUTF8 { bytes in
            segment.append(value: bytes[...])
            append(bytes, .rfc3986, keepingEscapes: false)
        }
        suspect = segment.problem == nil ? nil : value
        recordValue(from: start)
    }

    /// Writes a value of several segments, each encoded like a value; none may be empty, `.` or `..`.
    mutating func write(segments value: String) {
        let start = length
        var text = value
        text.withUTF8 { bytes in
            let segments = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            for (index, bytes) in segments.enumerated() {
                if index > 0 {
                    // The text before the value can complete its first segment.
                    fail(segment.problem, in: value)
                    segment = PathSegment()
                }
                fail(PathSegment(value: bytes).problem, in: value)
                segment.append(value: bytes)
            }
            append(bytes, .segments, keepingEscapes: false)
        }
        suspect = segment.problem == nil ? nil : value
        recordValue(from: start)
    }

    /// Checks the last segment, because the path ends here.
    mutating func finish() {
        fail(segment.problem, in: suspect)
    }

    /// Records the first error of the path, and the value that caused it.
    private mutating func fail(_ reason: RequestError.InvalidRequest?, in value: String? = nil) {
        if problem == nil, let reason { problem = PathProblem(reason, value: value) }
    }

    /// Writes trusted text and returns whether encoding changed it.
    @discardableResult
    private mutating func write(trusted: String, isRaw: Bool = false) -> Bool {
        if isRaw { suspect = trusted }
        var text = trusted
        return text.withUTF8 { bytes in
            let reason = isRaw ? segment.append(raw: bytes) : segment.append(literal: bytes)
            let isChanged = append(bytes, .path, keepingEscapes: true)
            // Every byte that is not allowed in a literal is encoded, so unchanged text has no error.
            if isChanged { fail(RequestPath.problem(inLiteral: bytes)) }
            fail(reason, in: suspect)
            return isChanged
        }
    }

    /// Appends `source` encoded and returns whether encoding changed it.
    @discardableResult
    private mutating func append(
        _ source: UnsafeBufferPointer<UInt8>, _ encoding: PercentEncoding, keepingEscapes: Bool
    ) -> Bool {
        let available = MemoryLayout<Bytes>.size - used
        // One byte becomes at most three, so the exact count matters only near the end of the memory.
        if source.count * 3 > available {
            let count = encoding.encodedCount(of: source, keepingEscapes: keepingEscapes)
            guard count <= available else {
                beginning = path + encoding.encodedText(of: source, keepingEscapes: keepingEscapes)
                used = 0
                return count != source.count
            }
        }
        let start = used
        used = withUnsafeMutableBytes(of: &bytes) { memory in
            memory.withMemoryRebound(to: UInt8.self) { memory in
                var writer = ByteWriter(memory, from: start)
                encoding.write(source, keepingEscapes: keepingEscapes, with: &writer)
                return writer.count
            }
        }
        return used - start != source.count
    }

    /// Records the value between `start` and the end of the text written so far.
    private mutating func recordValue(from start: Int) {
        let length = self.length - start
        // `places` has 8 bits for each number and 16 for each of four values.
        if template == nil, count == 4 || start - lastValueEnd > 255 || length > 255 {
            template = template(upTo: start)
        }
        if template != nil {
            template? += "{}"
            return
        }
        places |= UInt64(start - lastValueEnd | length << 8) << (UInt64(count) * 16)
        count += 1
        lastValueEnd = start + length
    }

    /// Returns the template of the first `length` bytes, whose values have all been recorded.
    private func template(upTo length: Int) -> String {
        let path = path
        let beginning = path[..<path.utf8.index(path.startIndex, offsetBy: length)]
        return PathTemplate.text(of: String(beginning), places, count)
    }
}
