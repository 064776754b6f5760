/// The text of an element, and the first reason why that text is not a document.
struct XMLWriter {
    private(set) var text = ""
    private(set) var problem: XMLValue.WritingError?
    private var namespaces = XMLNamespaces()

    /// Writes `root` with its attributes sorted by name, and with the namespace declarations that are missing.
    init(_ root: XMLValue) {
        var depth = 0
        for event in XMLWalk(root) {
            switch event {
            case .start(let element):
                depth += 1
                if depth > XMLValue.maximumDepth { report(.tooDeep(limit: XMLValue.maximumDepth)) }
                start(element)
            case .text(let part): write(part)
            case .end(let element):
                depth -= 1
                namespaces.close()
                if !element.content.isEmpty { text += "</\(element.name)>" }
            }
        }
    }

    private mutating func report(_ problem: XMLValue.WritingError) {
        self.problem = self.problem ?? problem
    }

    private mutating func start(_ element: XMLValue) {
        text += "<\(element.name)"
        namespaces.open()
        let name = checkedName(element.name)
        var attributes = element.attributes.map { (checkedName($0.name), $0.value) }
        attributes.sort { ExactString($0.0.text) < ExactString($1.0.text) }
        for (name, value) in attributes where name.isDeclaration {
            let prefix = name.prefix.utf8.isEmpty ? "" : name.local
            if !namespaces.declare(prefix, value) { report(.invalidNamespace(value)) }
        }
        declareNamespace(of: element, named: name)
        var expanded: Set<ExpandedName> = []
        for (name, value) in attributes {
            text += " \(name.text)=\""
            write(value)
            text += "\""
            if name.isDeclaration || name.prefix.utf8.isEmpty { continue }
            guard let number = namespaces.number(of: name.prefix) else {
                report(.undeclaredPrefix(name.prefix))
                continue
            }
            if !expanded.insert(ExpandedName(namespace: number, local: ExactString(name.local))).inserted {
                report(.repeatedAttribute(name.text))
            }
        }
        text += element.content.isEmpty ? "/>" : ">"
    }

    /// Declares the namespace of `element` unless it is in scope.
    private mutating func declareNamespace(of element: XMLValue, named name: XMLName) {
        let number = namespaces.number(of: name.prefix)
        guard let namespace = element.namespace else {
            if number == nil { report(.undeclaredPrefix(name.prefix)) }
            return
        }
        if let number, ExactString.areEqual(namespaces.name(number) ?? "", namespace) { return }
        let declaration = name.prefix.utf8.isEmpty ? "xmlns" : "xmlns:\(name.prefix)"
        guard element.attributes[declaration] == nil, namespaces.declare(name.prefix, namespace) else {
            return report(.invalidNamespace(namespace))
        }
        text += " \(declaration)=\""
        write(namespace)
        text += "\""
    }

    private mutating func checkedName(_ text: String) -> XMLName {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
            Substring($0)
        }
        let isValid = parts.count <= 2 && parts.allSatisfy { XMLCharacters.isName($0.unicodeScalars) }
        if !isValid { report(.invalidName(text)) }
        guard isValid, parts.count == 2 else { return XMLName(text: text, prefix: "", local: text) }
        return XMLName(text: text, prefix: String(parts[0]), local: String(parts[1]))
    }

    private mutating func write(_ part: String) {
        if let scalar = part.unicodeScalars.first(where: { !XMLCharacters.isAllowed($0) }) {
            report(.forbiddenCharacter(scalar))
        }
        text += XMLValue.escaped(part)
    }
}
