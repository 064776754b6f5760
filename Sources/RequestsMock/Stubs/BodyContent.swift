import Requests

/// The content of a body, in the form in which bodies of its kind are compared.
///
/// Two bodies are equal if a server reads the same content from them: JSON by value, the items of a form by name, and a
/// multipart form by its parts, whatever its boundary is. Bodies of any other type have the same type and bytes.
enum BodyContent: Hashable, Sendable {
    case empty
    case json(JSON)
    /// The values for each name, in order.
    case form([ByteText: [ByteText?]])
    /// The parts in order, and the subtype of the form.
    case parts(MediaType, [Part])
    case bytes(MediaType, Data)

    struct Part: Hashable, Sendable {
        /// The values of each field, by lower-case name.
        let fields: [ByteText: [ByteText]]
        let content: BodyContent
    }

    /// A JSON value that is compared as ``ExactJSON`` does.
    struct JSON: Hashable, Sendable {
        let value: JSONValue

        static func == (left: Self, right: Self) -> Bool { ExactJSON.areEqual(left.value, right.value) }

        func hash(into hasher: inout Hasher) { hasher.combine(ExactJSON.hash(of: value)) }
    }

    /// Creates the content of `data` with the Content-Type `contentType`; malformed content is compared by its bytes.
    ///
    /// Content without a type, or with `application/octet-stream`, may be JSON.
    init(_ data: Data, _ contentType: String) {
        self.init(data, MediaType(contentType) ?? .binary, readsParts: true)
    }

    private init(_ data: Data, _ type: MediaType, readsParts: Bool) {
        if data.isEmpty {
            self = .empty
        } else if let content = Self.structured(data, type, readsParts: readsParts) {
            self = content
        } else {
            self = .bytes(type, data)
        }
    }

    var json: JSONValue? { if case .json(let json) = self { json.value } else { nil } }

    private static func structured(_ data: Data, _ type: MediaType, readsParts: Bool) -> BodyContent? {
        if type.type == .multipart {
            // Parts of a part are compared by their bytes, so that the depth is limited.
            guard readsParts, let boundary = type.parameters["boundary"] else { return nil }
            return parts(of: [UInt8](data), boundary).map { .parts(type, $0) }
        }
        if type.subtype == .urlEncodedForm { return form(data) }
        let mayBeJSON = type == .binary || MediaType.json.reads(type)
        guard mayBeJSON, data.count <= JSONDifference.maximumBytes else { return nil }
        return ExactJSON.value(parsing: data).map { .json(JSON(value: $0)) }
    }

    private static func form(_ data: Data) -> BodyContent? {
        guard let text = String(validating: data, as: UTF8.self) else { return nil }
        let items = StubPattern.items(of: text.replacingBytes { $0 == UInt8(ascii: "+") ? "%20" : nil })
        return .form(Dictionary(grouping: items, by: \.name).mapValues { $0.map(\.value) })
    }

    /// Returns the parts of a multipart body (RFC 2046 §5.1); nil if it is malformed.
    private static func parts(of body: [UInt8], _ boundary: String) -> [Part]? {
        let (lineBreak, emptyLine) = (Array("\r\n".utf8), Array("\r\n\r\n".utf8))
        // The first delimiter needs no line break before it.
        let (bytes, delimiter) = (lineBreak + body, Array("\r\n--\(boundary)".utf8))
        var parts: [Part] = []
        var start = delimiterEnd(in: bytes, from: 0, delimiter)?.end
        while let begin = start {
            if bytes[begin...].starts(with: "--".utf8) { return parts }
            guard let next = delimiterEnd(in: bytes, from: begin, delimiter),
                let split = position(of: emptyLine, in: bytes[begin..<next.start]),
                let fields = fields(of: bytes[begin..<split])
            else { return nil }
            let type = fields[ByteText("content-type")]?.first.flatMap { MediaType($0.text) } ?? .plainText
            let content = Data(bytes[(split + 4)..<next.start])
            parts.append(Part(fields: fields, content: BodyContent(content, type, readsParts: false)))
            start = next.end
        }
        return nil
    }

    /// Returns the positions of the next delimiter, and of the line break or the dashes after it.
    private static func delimiterEnd(
        in bytes: [UInt8], from start: Int, _ delimiter: [UInt8]
    ) -> (start: Int, end: Int)? {
        var start = start
        while let found = position(of: delimiter, in: bytes[start...]) {
            var end = found + delimiter.count
            if bytes[end...].starts(with: "--".utf8) { return (found, end) }
            while end < bytes.count, bytes[end] == 0x20 || bytes[end] == 0x09 { end += 1 }
            if bytes[end...].starts(with: "\r\n".utf8) { return (found, end) }
            start = found + 1
        }
        return nil
    }

    /// Returns the position of `pattern`, which begins with a carriage return.
    private static func position(of pattern: [UInt8], in bytes: ArraySlice<UInt8>) -> Int? {
        var position = bytes.startIndex
        while let start = bytes[position...].firstIndex(of: 0x0D) {
            if bytes[start...].starts(with: pattern) { return start }
            position = start + 1
        }
        return nil
    }

    /// Returns the fields of a part; nil if they are not UTF-8 or have no names.
    private static func fields(of bytes: ArraySlice<UInt8>) -> [ByteText: [ByteText]]? {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        var fields: [ByteText: [ByteText]] = [:]
        for line in text.replacingBytes({ $0 == 0x0D ? "" : nil }).splitBytes(at: "\n") {
            let field = line.splitBytes(at: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard field.count == 2 else { return nil }
            let value = field[1].droppingFirstBytes(field[1].hasBytePrefix(" ") ? 1 : 0)
            fields[ByteText(ASCIIFolding.folded(String(field[0]))), default: []].append(ByteText(String(value)))
        }
        return fields
    }
}
