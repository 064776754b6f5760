/// One element of an XML document with its content, as a value.
///
/// Comments and processing instructions are not kept, and CDATA is text like any other. Names and text are compared code
/// point by code point, not by canonical equivalence as Swift strings are.
public struct XMLValue: Sendable {
    /// The greatest depth at which elements are read, whatever the limit of the decoder: 512, as for ``JSONValue``.
    ///
    /// A value is released one element within the other, which takes stack; everything else is done without recursion.
    public static let maximumDepth = 512

    /// The content between the tags of an element, in its order.
    public enum Node: Hashable, Sendable {
        /// Text, its references resolved; two texts never follow each other.
        case text(String)
        /// An element.
        case element(XMLValue)
    }

    /// The name as it is written, prefix included.
    public var name: String

    /// The namespace of the name; nil when it is in none.
    public var namespace: String?

    /// The attributes by their names as they are written.
    public var attributes: Attributes

    /// The content of the element.
    public var content: [Node]

    /// An element of the parts given.
    public init(_ name: String, namespace: String? = nil, attributes: Attributes = [:], content: [Node] = []) {
        self.name = name
        self.namespace = namespace
        self.attributes = attributes
        self.content = content
    }

    /// The name without its prefix.
    public var localName: Substring {
        name.utf8.firstIndex(of: UInt8(ascii: ":")).map { name[name.utf8.index(after: $0)...] } ?? name[...]
    }

    /// The elements directly in this one.
    public var elements: [XMLValue] {
        content.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// All text in the element and in those within it, in its order and with its white space.
    public var text: String {
        var text = ""
        for step in XMLWalk(self) {
            if case .text(let part) = step { text += part }
        }
        return text
    }

    /// The elements directly in this one whose name, without prefix, is `localName`.
    public func elements(named localName: String) -> [XMLValue] {
        elements.filter { ExactString.areEqual($0.localName, localName) }
    }

    /// The first element that the path of names leads to, each the first of its name; nil when there is none.
    ///
    /// `feed["channel", "item", "title"]?.text`
    public subscript(path: String...) -> XMLValue? {
        path.reduce(self) { $0?.elements(named: $1).first }
    }
}

extension XMLValue: Hashable {
    /// Whether both have the same name, namespace, attributes and content, code point by code point.
    public static func == (left: XMLValue, right: XMLValue) -> Bool {
        var (leftSteps, rightSteps) = (XMLWalk(left), XMLWalk(right))
        while true {
            switch (leftSteps.next(), rightSteps.next()) {
            case (nil, nil): return true
            case (.end, .end): break
            case (.text(let left), .text(let right)) where ExactString(left) == ExactString(right): break
            case (.start(let left), .start(let right)) where left.hasTag(of: right): break
            default: return false
            }
        }
    }

    private func hasTag(of other: XMLValue) -> Bool {
        ExactString(name) == ExactString(other.name)
            && namespace.map(ExactString.init) == other.namespace.map(ExactString.init)
            && attributes == other.attributes
    }

    /// Hashes equal elements alike.
    public func hash(into hasher: inout Hasher) {
        for step in XMLWalk(self) {
            switch step {
            case .start(let element):
                hasher.combine(ExactString(element.name))
                hasher.combine(element.namespace.map(ExactString.init))
                hasher.combine(element.attributes)
            case .text(let text): hasher.combine(ExactString(text))
            // Elements of the same tags with their content elsewhere are told apart.
            case .end: hasher.combine(0)
            }
        }
    }
}

extension XMLValue.Node {
    /// Whether both are the same text, code point by code point, or the same element.
    public static func == (left: XMLValue.Node, right: XMLValue.Node) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): ExactString(left) == ExactString(right)
        case (.element(let left), .element(let right)): left == right
        default: false
        }
    }

    /// Hashes equal nodes alike.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .text(let text): hasher.combine(ExactString(text))
        case .element(let element): hasher.combine(element)
        }
    }
}

extension XMLValue: CustomStringConvertible {
    /// The element as XML, its attributes in the order of their names.
    ///
    /// Reading it gives an equal value, when this one was read.
    public var description: String {
        var text = ""
        for step in XMLWalk(self) {
            switch step {
            case .start(let element):
                text += "<\(element.name)\(element.attributes)\(element.content.isEmpty ? "/>" : ">")"
            case .text(let part): text += Self.escaped(part)
            case .end(let element): text += element.content.isEmpty ? "" : "</\(element.name)>"
            }
        }
        return text
    }

    /// `text` with references for everything that a parser would read as markup or normalize.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\t", "\n", "\r": escaped += "&#\(scalar.value);"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
