/// One element of an XML document with all that is in it, as a value.
///
/// Comments and processing instructions are not kept, and CDATA is text like any other.
public struct XMLValue: Hashable, Sendable {
    /// What stands between the tags of an element, in its order.
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
    public var attributes: [String: String]

    /// What is in the element.
    public var content: [Node]

    /// An element of the parts given.
    public init(_ name: String, namespace: String? = nil, attributes: [String: String] = [:], content: [Node] = []) {
        self.name = name
        self.namespace = namespace
        self.attributes = attributes
        self.content = content
    }

    /// The name without its prefix.
    public var localName: Substring {
        name.firstIndex(of: ":").map { name[name.index(after: $0)...] } ?? name[...]
    }

    /// The elements directly in this one.
    public var elements: [XMLValue] {
        content.compactMap { if case .element(let element) = $0 { element } else { nil } }
    }

    /// All text in the element and in those within it, in its order and with its white space.
    public var text: String {
        content.map { node in
            switch node {
            case .text(let text): text
            case .element(let element): element.text
            }
        }.joined()
    }

    /// The elements directly in this one whose name, without prefix, is `localName`.
    public func elements(named localName: String) -> [XMLValue] {
        elements.filter { $0.localName == localName }
    }

    /// The first element that the path of names leads to, each the first of its name; nil when there is none.
    ///
    /// `feed["channel", "item", "title"]?.text`
    public subscript(path: String...) -> XMLValue? {
        path.reduce(self) { $0?.elements(named: $1).first }
    }
}
