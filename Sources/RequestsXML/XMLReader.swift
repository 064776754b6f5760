/// Reads a document (XML 1.0, fifth edition, with namespaces) that has no document type: strictly, without recursion.
///
/// Foundation's parser on Linux reports success for documents that are cut short and traps at ill-formed UTF-8 in a name.
/// It is given only what has been read here before.
struct XMLReader {
    struct Malformed: Error {}

    let bytes: [UInt8]
    var position = 0
    private let depth: Int
    private var open: [XMLValue] = []
    /// The text read since the last tag, in UTF-8.
    private var pending: [UInt8] = []
    private var namespaces = XMLNamespaces()
    private var root: XMLValue?
    /// The places behind the targets of processing instructions that have nothing else.
    private var bareInstructions: [Int] = []

    private init(_ bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = min(depth, XMLValue.maximumDepth)
    }

    /// Reads the document in `text`, its elements nested at most `depth` deep.
    ///
    /// - Throws: `InvalidXML`.
    static func read(_ text: XMLText, depth: Int) throws(InvalidXML) -> CheckedXML {
        var reader = XMLReader(text.bytes, depth: depth)
        do {
            let root = try reader.document()
            return CheckedXML(root: root, bytes: text.bytes, bareInstructions: reader.bareInstructions)
        } catch let error as InvalidXML {
            throw error
        } catch {
            throw text.malformed(at: reader.position)
        }
    }

    private mutating func document() throws -> XMLValue {
        while position < bytes.count {
            if bytes[position] != UInt8(ascii: "<") {
                try characters()
            } else if take("<!--") {
                try skipComment()
            } else if take("<?") {
                try skipInstruction()
            } else if take("<![CDATA[") {
                guard !open.isEmpty, let end = index(of: "]]>") else { throw Malformed() }
                pending += bytes[position..<end]
                position = end + 3
            } else if at("<!DOCTYPE"), open.isEmpty, root == nil {
                throw InvalidXML.documentType
            } else if take("</") {
                try endTag()
            } else {
                position += 1
                try startTag()
            }
        }
        guard open.isEmpty, let root else { throw Malformed() }
        return root
    }

    private mutating func skipComment() throws {
        guard let end = index(of: "--") else { throw Malformed() }
        position = end + 2
        guard take(">") else { throw Malformed() }
    }

    private mutating func skipInstruction() throws {
        let target = try name()
        // A target has no colon (Namespaces in XML 1.0 §7).
        if at("?>") { bareInstructions.append(position) }
        guard target.prefix.utf8.isEmpty, !ASCIIFolding.areEqual(target.text, "xml"), at("?>") || skipWhitespace(),
            let end = index(of: "?>")
        else { throw Malformed() }
        position = end + 2
    }

    /// Reads text up to the next tag; outside the root element there is only white space.
    private mutating func characters() throws {
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") {
            guard !open.isEmpty || isWhitespace(bytes[position]) else { throw Malformed() }
            if take("&") {
                pending += String(try reference()).utf8
            } else {
                if bytes[position] == UInt8(ascii: "]"), at("]]>") { throw Malformed() }
                pending.append(bytes[position])
                position += 1
            }
        }
        if open.isEmpty { pending = [] }
    }

    private mutating func startTag() throws {
        guard root == nil else { throw Malformed() }
        let start = position
        let name = try name()
        var element = XMLValue(name.text)
        var attributes: [(name: XMLName, value: String)] = []
        while skipWhitespace(), !at(">"), !at("/>") {
            let name = try self.name()
            skipWhitespace()
            guard take("=") else { throw Malformed() }
            skipWhitespace()
            let value = try attributeValue()
            guard element.attributes.updateValue(value, forName: name.text) == nil else { throw Malformed() }
            attributes.append((name, value))
        }
        let isEmpty = take("/>")
        guard isEmpty || take(">") else { throw Malformed() }
        guard open.count < depth else { throw InvalidXML.tooDeep(limit: depth) }
        let end = position
        position = start
        namespaces.open()
        try declareNamespaces(attributes)
        guard let number = namespaces.number(of: name.prefix) else { throw Malformed() }
        element.namespace = namespaces.name(number)
        position = end
        flush()
        open.append(element)
        if isEmpty { close() }
    }

    private mutating func endTag() throws {
        let start = position
        let name = try name()
        skipWhitespace()
        guard let element = open.last, ExactString.areEqual(element.name, name.text) else {
            position = start
            throw Malformed()
        }
        guard take(">") else { throw Malformed() }
        close()
    }

    private mutating func close() {
        namespaces.close()
        flush()
        guard let element = open.popLast() else { return }
        if open.isEmpty {
            root = element
        } else {
            open[open.count - 1].content.append(.element(element))
        }
    }

    /// Puts the namespaces in force that the attributes declare.
    ///
    /// No prefix may be without one, and no two attributes may have the same name in the same namespace (Namespaces in
    /// XML 1.0 §6.3).
    private mutating func declareNamespaces(_ attributes: [(name: XMLName, value: String)]) throws {
        for (name, value) in attributes where name.isDeclaration {
            guard namespaces.declare(name.prefix.utf8.isEmpty ? "" : name.local, value) else { throw Malformed() }
        }
        var expanded: Set<ExpandedName> = []
        for (name, _) in attributes where !name.isDeclaration && !name.prefix.utf8.isEmpty {
            guard let number = namespaces.number(of: name.prefix),
                expanded.insert(ExpandedName(namespace: number, local: ExactString(name.local))).inserted
            else { throw Malformed() }
        }
    }

    /// Puts the text read since the last tag into the element around it.
    private mutating func flush() {
        guard let last = open.indices.last, !pending.isEmpty else { return }
        open[last].content.append(.text(String(decoding: pending, as: UTF8.self)))
        pending.removeAll(keepingCapacity: true)
    }
}

private struct ExpandedName: Hashable {
    let namespace: Int
    let local: ExactString
}
