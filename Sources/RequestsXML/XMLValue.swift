/// An element of an XML document with its content.
///
/// Comments and processing instructions are not kept, and CDATA becomes text. Names and text are compared by code
/// points, not by canonical equivalence as Swift strings are.
public struct XMLValue: Sendable {
    /// The maximum depth at which elements are read, whatever the limit of the decoder: 512, as for
    /// ``/Requests/JSONValue``.
    ///
    /// Releasing a value recurses from each element into its children, which takes stack; nothing else recurses
    /// (decision 0025).
    package static let maximumDepth = 512

    /// A part of an element's content.
    public enum Node: Hashable, Sendable {
        /// Text with its references replaced.
        ///
        /// A text is never next to another one.
        case text(String)
        /// An element.
        case element(XMLValue)
    }

    /// The name as written, including its prefix.
    public var name: String

    /// The namespace of the name; nil if it has none.
    ///
    /// If no attribute declares it, it is declared where the element is written. An element without one is written
    /// without a declaration, and so is in the namespace of the elements around it when it is read.
    public var namespace: String?

    /// The attributes by their names as written.
    public var attributes: Attributes

    /// The content of the element, in order.
    public var content: [Node]

    /// Creates an element.
    ///
    /// - Parameters:
    ///   - name: The name, including its prefix.
    ///   - namespace: The namespace of the name; nil for none.
    ///   - attributes: The attributes by their names.
    ///   - content: The content, in order.
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

    /// The child elements.
    public var elements: [XMLValue] {
        content.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// All text in the element and its descendants, in order and with its white space.
    public var text: String {
        var text = ""
        for event in XMLWalk(self) {
            if case .text(let part) = event { text += part }
        }
        return text
    }

    /// Returns the child elements whose name without prefix is `localName`.
    public func elements(named localName: String) -> [XMLValue] {
        elements.filter { ExactString.areEqual($0.localName, localName) }
    }

    /// The first element at the path of names, each the first child with its name; nil if there is none.
    ///
    /// `feed["channel", "item", "title"]?.text`
    public subscript(path: String...) -> XMLValue? {
        path.reduce(self) { $0?.elements(named: $1).first }
    }
}

extension XMLValue: Hashable {
    /// Returns whether both have the same name, namespace, attributes and content, compared by code points.
    public static func == (left: XMLValue, right: XMLValue) -> Bool {
        var (leftEvents, rightEvents) = (XMLWalk(left), XMLWalk(right))
        while true {
            switch (leftEvents.next(), rightEvents.next()) {
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

    /// Adds the element to `hasher`; equal elements have equal hashes.
    public func hash(into hasher: inout Hasher) {
        for event in XMLWalk(self) {
            switch event {
            case .start(let element):
                hasher.combine(ExactString(element.name))
                hasher.combine(element.namespace.map(ExactString.init))
                hasher.combine(element.attributes)
            case .text(let text): hasher.combine(ExactString(text))
            // Distinguishes elements with equal tags at different depths.
            case .end: hasher.combine(0)
            }
        }
    }
}

extension XMLValue.Node {
    /// Returns whether both are the same text, compared by code points, or the same element.
    public static func == (left: XMLValue.Node, right: XMLValue.Node) -> Bool {
        switch (left, right) {
        case (.text(let left), .text(let right)): ExactString(left) == ExactString(right)
        case (.element(let left), .element(let right)): left == right
        default: false
        }
    }

    /// Adds the node to `hasher`; equal nodes have equal hashes.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .text(let text): hasher.combine(ExactString(text))
        case .element(let element): hasher.combine(element)
        }
    }
}

extension XMLValue: CustomStringConvertible {
    /// The element as XML, with its attributes sorted by name, and with the namespace declarations that are missing.
    ///
    /// If the element is the root of a parsed document, parsing its description results in an equal element.
    public var description: String { XMLWriter(self).text }

    /// Returns `text` with references for all characters that a parser would interpret as markup or normalize.
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
