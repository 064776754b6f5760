/// Reads a document (XML 1.0, fifth edition, with namespaces) that has no document type: strictly, without recursion.
///
/// Foundation's parser on Linux reports success for documents that are cut short and traps at ill-formed UTF-8 in a name.
/// It is given only what has been read here before.
struct XMLReader {
    private struct Malformed: Error {}

    private let bytes: [UInt8]
    private let depth: Int
    private var position = 0
    private var open: [XMLValue] = []
    /// The text read since the last tag.
    private var pending = ""
    /// The namespaces that each open element declares by prefix, "" for names without one.
    private var namespaces: [[String: String]] = [["xml": "http://www.w3.org/XML/1998/namespace"]]
    private var root: XMLValue?

    private init(_ bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = depth
    }

    /// The root element of the document in `text`, its elements nested at most `depth` deep.
    ///
    /// - Throws: `InvalidXML`.
    static func root(of text: XMLText, depth: Int) throws(InvalidXML) -> XMLValue {
        var reader = XMLReader(Array(text.data), depth: depth)
        do {
            return try reader.document()
        } catch let error as InvalidXML {
            throw error
        } catch {
            throw text.malformed(at: reader.position)
        }
    }

    private mutating func document() throws -> XMLValue {
        while position < bytes.count {
            if take("<!--") {
                try skipComment()
            } else if take("<?") {
                try skipInstruction()
            } else if take("<![CDATA[") {
                guard !open.isEmpty, let end = range(of: "]]>") else { throw Malformed() }
                pending += normalized(position..<end.lowerBound)
                position = end.upperBound
            } else if at("<!DOCTYPE"), open.isEmpty, root == nil {
                throw InvalidXML.documentType
            } else if take("</") {
                try endTag()
            } else if take("<") {
                try startTag()
            } else if open.isEmpty {
                guard isWhitespace(bytes[position]) else { throw Malformed() }
                position += 1
            } else {
                try text()
            }
        }
        guard open.isEmpty, let root else { throw Malformed() }
        return root
    }

    private mutating func skipComment() throws {
        guard let end = range(of: "--") else { throw Malformed() }
        position = end.upperBound
        guard take(">") else { throw Malformed() }
    }

    private mutating func skipInstruction() throws {
        let target = try name()
        guard target.lowercased() != "xml", at("?>") || skipWhitespace() else { throw Malformed() }
        guard let end = range(of: "?>") else { throw Malformed() }
        position = end.upperBound
    }

    private mutating func text() throws {
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "<"), bytes[position] != UInt8(ascii: "&") {
            if bytes[position] == UInt8(ascii: "]"), at("]]>") { throw Malformed() }
            position += 1
        }
        pending += normalized(start..<position)
        if take("&") { pending += try reference() }
    }

    private mutating func startTag() throws {
        guard root == nil else { throw Malformed() }
        let start = position
        var element = XMLValue(try name())
        while skipWhitespace(), !at(">"), !at("/>") {
            let name = try name()
            skipWhitespace()
            guard take("=") else { throw Malformed() }
            skipWhitespace()
            let value = try attributeValue()
            guard element.attributes.updateValue(value, forKey: name) == nil else { throw Malformed() }
        }
        let isEmpty = take("/>")
        guard isEmpty || take(">") else { throw Malformed() }
        guard open.count < depth else { throw InvalidXML.tooDeep(limit: depth) }
        let end = position
        position = start
        try declareNamespaces(of: &element)
        position = end
        flush()
        open.append(element)
        if isEmpty { close() }
    }

    private mutating func endTag() throws {
        let start = position
        let name = try name()
        skipWhitespace()
        guard open.last?.name == name else {
            position = start
            throw Malformed()
        }
        guard take(">") else { throw Malformed() }
        close()
    }

    private mutating func close() {
        namespaces.removeLast()
        flush()
        guard let element = open.popLast() else { return }
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].content.append(.element(element))
        }
    }

    /// Puts the namespaces in force that `element` declares, and finds its own; no prefix may be without one.
    private mutating func declareNamespaces(of element: inout XMLValue) throws {
        var declared: [String: String] = [:]
        for (name, value) in element.attributes {
            if name == "xmlns" {
                declared[""] = value
            } else if let prefix = Self.prefix(of: name), prefix == "xmlns" {
                let name = String(name.dropFirst("xmlns:".count))
                guard !value.isEmpty, name != "xml", name != "xmlns" else { throw Malformed() }
                declared[name] = value
            }
        }
        namespaces.append(declared)
        for name in element.attributes.keys {
            guard let prefix = Self.prefix(of: name), prefix != "xmlns" else { continue }
            guard namespace(of: prefix) != nil else { throw Malformed() }
        }
        let prefix = Self.prefix(of: element.name)
        element.namespace = namespace(of: prefix ?? "").flatMap { $0.isEmpty ? nil : $0 }
        guard prefix == nil || element.namespace != nil else { throw Malformed() }
    }

    private func namespace(of prefix: String) -> String? {
        for declared in namespaces.reversed() {
            if let namespace = declared[prefix] { return namespace }
        }
        return nil
    }

    private static func prefix(of name: String) -> String? {
        name.firstIndex(of: ":").map { String(name[..<$0]) }
    }

    /// A name with at most one colon, which stands between two names.
    private mutating func name() throws -> String {
        let start = position
        while position < bytes.count, Self.isNameByte(bytes[position]) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count < 3, parts.allSatisfy({ $0.unicodeScalars.first.map(XMLCharacters.canStartName) ?? false }),
            text.unicodeScalars.allSatisfy({ $0 == ":" || XMLCharacters.canBeInName($0) })
        else {
            position = start
            throw Malformed()
        }
        return text
    }

    private mutating func attributeValue() throws -> String {
        guard position < bytes.count, case let quote = bytes[position], quote == 0x22 || quote == 0x27 else {
            throw Malformed()
        }
        position += 1
        var value = ""
        var start = position
        while position < bytes.count, bytes[position] != quote {
            switch bytes[position] {
            case UInt8(ascii: "<"): throw Malformed()
            case UInt8(ascii: "&"):
                value += spaced(start..<position)
                position += 1
                value += try reference()
                start = position
            default: position += 1
            }
        }
        guard position < bytes.count else { throw Malformed() }
        value += spaced(start..<position)
        position += 1
        return value
    }

    /// What the reference after an ampersand stands for: a character by number, or one of the five that have names.
    private mutating func reference() throws -> String {
        guard let end = bytes[position...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else { throw Malformed() }
        let text = String(decoding: bytes[position..<end], as: UTF8.self)
        let named = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]
        let digits = text.hasPrefix("#x") ? text.dropFirst(2) : text.dropFirst()
        if let character = named[text] {
            position = end + 1
            return character
        }
        guard text.hasPrefix("#"), digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let number = UInt32(digits, radix: text.hasPrefix("#x") ? 16 : 10), let scalar = Unicode.Scalar(number),
            XMLCharacters.isAllowed(scalar)
        else { throw Malformed() }
        position = end + 1
        return String(Character(scalar))
    }

    /// Puts the text read since the last tag into the element it stands in.
    private mutating func flush() {
        guard let last = open.indices.last, !pending.isEmpty else { return }
        open[last].content.append(.text(pending))
        pending = ""
    }
}

extension XMLReader {
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x80...: true
        default: byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
        }
    }

    private func isWhitespace(_ byte: UInt8) -> Bool { XMLText.isWhitespace(byte) }

    private func at(_ mark: String) -> Bool { bytes[position...].starts(with: mark.utf8) }

    private mutating func take(_ mark: String) -> Bool {
        guard at(mark) else { return false }
        position += mark.utf8.count
        return true
    }

    /// Skips white space; false when there is none.
    @discardableResult
    private mutating func skipWhitespace() -> Bool {
        let start = position
        while position < bytes.count, isWhitespace(bytes[position]) { position += 1 }
        return position > start
    }

    private func range(of mark: String) -> Range<Int>? {
        let mark = Array(mark.utf8)
        var start = position
        while let found = bytes[start...].firstIndex(of: mark[0]) {
            if bytes[found...].starts(with: mark) { return found..<found + mark.count }
            start = found + 1
        }
        return nil
    }

    /// The text of `range`, its line ends as LF.
    private func normalized(_ range: Range<Int>) -> String {
        let text = String(decoding: bytes[range], as: UTF8.self)
        guard bytes[range].contains(0x0D) else { return text }
        return text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    }

    /// The text of `range` as an attribute has it: white space is a space.
    private func spaced(_ range: Range<Int>) -> String {
        let text = normalized(range)
        return text.replacing("\n", with: " ").replacing("\t", with: " ")
    }
}
