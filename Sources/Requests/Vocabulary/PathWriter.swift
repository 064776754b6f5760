/// Writes a path piece by piece: short ones, which nearly all are, without memory of their own until they are whole.
struct PathWriter: Sendable {
    /// What is wrong with the path, if anything is.
    private(set) var problem: InvalidRequest?
    /// The template, once the places of the values no longer tell it.
    private(set) var template: String?
    private(set) var places: UInt64 = 0
    private(set) var count: UInt8 = 0

    private var segment = PathSegment()
    /// Where the last value ends.
    private var end = 0
    /// What has been written before what `bytes` holds.
    private var beginning = ""
    private var bytes: Bytes = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    private var used = 0

    private typealias Bytes = (
        UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64,
        UInt64, UInt64
    )

    private var length: Int { beginning.utf8.count + used }

    /// The path.
    var path: String {
        beginning.isEmpty ? bytesText : used == 0 ? beginning : beginning + bytesText
    }

    private var bytesText: String {
        String(unsafeUninitializedCapacity: used) { memory in
            withUnsafeBytes(of: bytes) { memory.initialize(fromContentsOf: $0.prefix(used)) }
        }
    }

    /// Writes what a literal holds, which is trusted.
    mutating func write(literal text: String) {
        let start = length
        let isChanged = write(trusted: text)
        if isChanged, template == nil { template = template(upTo: start) }
        template? += text
    }

    /// Writes what is no literal and trusted all the same.
    mutating func write(raw text: String) {
        let start = length
        write(trusted: text)
        noteValue(from: start)
    }

    /// Writes a value, every byte encoded but letters, digits and `- . _ ~`.
    mutating func write(value text: String) {
        let start = length
        var text = text
        text.withUTF8 { bytes in
            segment.append(value: bytes)
            put(bytes, .rfc3986, keepingEscapes: false)
        }
        noteValue(from: start)
    }

    /// Notes that the path ends here.
    mutating func finish() {
        problem = problem ?? segment.problem
    }

    @discardableResult
    private mutating func write(trusted text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            let problemOfSegment = segment.append(trusted: bytes)
            let isChanged = put(bytes, .path, keepingEscapes: true)
            if isChanged { problem = problem ?? RequestPath.problem(inLiteral: bytes) }
            problem = problem ?? problemOfSegment
            return isChanged
        }
    }

    /// Appends `source` encoded; gives whether that is another text.
    @discardableResult
    private mutating func put(
        _ source: UnsafeBufferPointer<UInt8>, _ encoding: PercentEncoding, keepingEscapes: Bool
    ) -> Bool {
        let room = MemoryLayout<Bytes>.size - used
        if source.count * 3 > room {
            let count = encoding.encodedCount(of: source, keepingEscapes: keepingEscapes)
            guard count <= room else {
                beginning = path + encoding.encodedText(of: source, keepingEscapes: keepingEscapes)
                used = 0
                return count != source.count
            }
        }
        let start = used
        used = withUnsafeMutableBytes(of: &bytes) { memory in
            memory.withMemoryRebound(to: UInt8.self) { memory in
                var pen = BytePen(memory, from: start)
                encoding.write(source, keepingEscapes: keepingEscapes, with: &pen)
                return pen.count
            }
        }
        return used - start != source.count
    }

    private mutating func noteValue(from start: Int) {
        let length = self.length - start
        if template == nil, count == 4 || start - end > 255 || length > 255 { template = template(upTo: start) }
        if template != nil {
            template? += "{}"
            return
        }
        places |= UInt64(start - end | length << 8) << (UInt64(count) * 16)
        count += 1
        end = start + length
    }

    /// The template of the first `length` bytes, whose values have all been noted.
    private func template(upTo length: Int) -> String {
        let path = path
        let beginning = path[..<path.utf8.index(path.startIndex, offsetBy: length)]
        return PathTemplate.text(of: String(beginning), places, count)
    }
}

/// What is known of the segment at the end of a path: enough to see one that an interpolation leaves empty or makes climb.
struct PathSegment: Sendable {
    /// How many dots it is of; three is anything else.
    private var dots = 0
    private var isInterpolated = false

    /// What is wrong with the segment, if it ends here.
    var problem: InvalidRequest? {
        guard isInterpolated else { return nil }
        switch dots {
        case 0: return .emptySegment
        case 1, 2: return .dotSegment
        default: return nil
        }
    }

    /// Adds what stands in a literal, encoded; gives what is wrong with the segment that it ends.
    mutating func append(trusted bytes: UnsafeBufferPointer<UInt8>) -> InvalidRequest? {
        guard let last = bytes.lastIndex(of: UInt8(ascii: "/")) else {
            add(bytes[...])
            return nil
        }
        var problem: InvalidRequest?
        if isInterpolated {
            add(bytes[..<(bytes.firstIndex(of: UInt8(ascii: "/")) ?? last)])
            problem = self.problem
        }
        self = PathSegment()
        add(bytes[(last + 1)...])
        return problem
    }

    /// Adds a value, not yet encoded: a percent sign in it is data.
    mutating func append(value bytes: UnsafeBufferPointer<UInt8>) {
        isInterpolated = true
        for byte in bytes {
            if dots >= 3 { return }
            dots = byte == UInt8(ascii: ".") ? dots + 1 : 3
        }
    }

    private mutating func add(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) {
        var rest = bytes
        while dots < 3, let byte = rest.first {
            let isEscaped =
                byte == UInt8(ascii: "%") && rest.dropFirst().starts(with: "2e".utf8)
                || byte == UInt8(ascii: "%") && rest.dropFirst().starts(with: "2E".utf8)
            dots = isEscaped || byte == UInt8(ascii: ".") ? dots + 1 : 3
            rest = rest.dropFirst(isEscaped ? 3 : 1)
        }
    }
}
