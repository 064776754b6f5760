extension XMLValue {
    /// The attributes of an element: text by name, in no order.
    ///
    /// Names are compared code point by code point, as XML has it: `é` as one code point is another name than `é` as two.
    public struct Attributes: Hashable, Sendable {
        private var values: [ExactString: ExactString] = [:]

        /// No attributes.
        public init() {}

        /// The attributes of a dictionary.
        public init(_ values: [String: String]) {
            for (name, value) in values { self[name] = value }
        }

        /// The value of the attribute called `name`, prefix included; nil when there is none.
        ///
        /// Setting nil removes the attribute.
        public subscript(name: String) -> String? {
            get { values[ExactString(name)]?.text }
            set { values[ExactString(name)] = newValue.map(ExactString.init) }
        }

        /// Sets the value of the attribute called `name`; returns the one it replaces.
        mutating func updateValue(_ value: String, forName name: String) -> String? {
            values.updateValue(ExactString(value), forKey: ExactString(name))?.text
        }
    }
}

extension XMLValue.Attributes: Collection {
    /// The position of an attribute.
    public struct Index: Comparable, Sendable {
        fileprivate let index: Dictionary<ExactString, ExactString>.Index

        /// Whether `left` comes before `right`.
        public static func < (left: Index, right: Index) -> Bool { left.index < right.index }
    }

    /// The position of the first attribute.
    public var startIndex: Index { Index(index: values.startIndex) }

    /// The position behind the last attribute.
    public var endIndex: Index { Index(index: values.endIndex) }

    /// The number of attributes.
    public var count: Int { values.count }

    /// The position behind `index`.
    public func index(after index: Index) -> Index { Index(index: values.index(after: index.index)) }

    /// The attribute at a position.
    public subscript(position: Index) -> (name: String, value: String) {
        let (name, value) = values[position.index]
        return (name.text, value.text)
    }
}

extension XMLValue.Attributes: ExpressibleByDictionaryLiteral {
    /// The attributes of a literal; of a repeated name the last one.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }
}

extension XMLValue.Attributes: CustomStringConvertible {
    /// The attributes as in a tag, in the order of their names, each with a space before it.
    public var description: String {
        values.sorted { $0.key < $1.key }.reduce(into: "") { text, attribute in
            text += " \(attribute.key.text)=\"\(XMLValue.escaped(attribute.value.text))\""
        }
    }
}
