/// A strict reader of documents (XML 1.0, fifth edition, with namespaces) without a document type.
///
/// It does not recurse.
///
/// Foundation's parser on Linux reports success for truncated documents and traps at ill-formed UTF-8 in a name. It
/// receives only documents that this reader has accepted (decision 0006).
struct XMLReader {
    struct Malformed: Error {}

    let bytes: [UInt8]
    var position = 0
    private let depth: Int
    private var open: [XMLValue] = []
    /// The text since the last tag, in UTF-8.
    private var pending: [UInt8] = []
    private var namespaces = XMLNamespaces()
    private var root: XMLValue?
    /// The positions after the targets of processing instructions that have no content.
    private var emptyInstructions: [Int] = []

    private init(_ bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        self.depth = min(depth, XMLValue.maximumDepth)
    }

    /// Returns the document in `text`, whose elements are nested at most `depth` deep.
    ///
    /// - Throws: `XMLValue.SyntaxError`.
    static func read(_ text: XMLText, depth: Int) throws(XMLValue.SyntaxError) -> CheckedXML {
        var reader = XMLReader(text.bytes, depth: depth)
        do {
            let root = try reader.document()
            return CheckedXML(root: root, bytes: text.bytes, emptyInstructions: reader.emptyInstructions)
        } catch let error as XMLValue.SyntaxError {
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
                throw XMLValue.SyntaxError.documentType
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
        // A target does not contain a colon (Namespaces in XML 1.0 §7).
        if at("?>") { emptyInstructions.append(position) }
        guard target.prefix.utf8.isEmpty, !ASCIIFolding.areEqual(target.text, "xml"), at("?>") || skipWhitespace(),
            let end = index(of: "?>")
        else { throw Malformed() }
        position = end + 2
    }

    /// Reads text up to the next tag.
    ///
    /// Outside the root element, only white space is allowed.
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
        guard open.count < depth else { throw XMLValue.SyntaxError.tooDeep(limit: depth) }
        // An error in a namespace is reported at the beginning of the tag.
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

    /// Applies the namespace declarations among the attributes of a start tag.
    ///
    /// Every prefix must have a namespace, and two attributes must not have the same name in the same namespace
    /// (Namespaces in XML 1.0 §6.3).
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

    /// Adds the text since the last tag to the innermost open element.
    private mutating func flush() {
        guard let last = open.indices.last, !pending.isEmpty else { return }
        open[last].content.append(.text(String(decoding: pending, as: UTF8.self)))
        pending.removeAll(keepingCapacity: true)
    }
}

/// An attribute's name with the number of its namespace.
struct ExpandedName: Hashable {
    let namespace: Int
    let local: ExactString
}
