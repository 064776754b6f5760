extension XMLValue {
    /// The attributes of an element: text by name, in no order.
    ///
    /// Names are compared by code points, as XML requires: `é` as one code point is a different name from `é` as two.
    public struct Attributes: Hashable, Sendable {
        private var values: [ExactString: ExactString] = [:]

        /// Creates an empty collection of attributes.
        public init() {}

        /// Creates the attributes in `values`, a dictionary of values by name.
        public init(_ values: [String: String]) {
            for (name, value) in values { self[name] = value }
        }

        /// The value of the attribute `name`, which includes its prefix; nil if there is none.
        ///
        /// Setting nil removes the attribute.
        public subscript(name: String) -> String? {
            get { values[ExactString(name)]?.text }
            set { values[ExactString(name)] = newValue.map(ExactString.init) }
        }

        /// Sets the value of the attribute `name`, and returns the value that it replaces.
        mutating func updateValue(_ value: String, forName name: String) -> String? {
            values.updateValue(ExactString(value), forKey: ExactString(name))?.text
        }
    }
}

extension XMLValue.Attributes: Collection {
    /// The position of an attribute.
    public struct Index: Comparable, Sendable {
        fileprivate let index: Dictionary<ExactString, ExactString>.Index

        /// Returns whether `left` is before `right`.
        public static func < (left: Index, right: Index) -> Bool { left.index < right.index }
    }

    /// The position of the first attribute.
    public var startIndex: Index { Index(index: values.startIndex) }

    /// The position after the last attribute.
    public var endIndex: Index { Index(index: values.endIndex) }

    /// The number of attributes.
    public var count: Int { values.count }

    /// Returns the position after `index`.
    public func index(after index: Index) -> Index { Index(index: values.index(after: index.index)) }

    /// The attribute at `position`.
    public subscript(position: Index) -> (name: String, value: String) {
        let (name, value) = values[position.index]
        return (name.text, value.text)
    }
}

extension XMLValue.Attributes: ExpressibleByDictionaryLiteral {
    /// Creates the attributes of a dictionary literal.
    ///
    /// If a name is repeated, the last value is kept.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { self[name] = value }
    }
}

extension XMLValue.Attributes: CustomStringConvertible {
    /// The attributes as in a tag, sorted by name, each with a space before it.
    public var description: String {
        values.sorted { $0.key < $1.key }.reduce(into: "") { text, attribute in
            text += " \(attribute.key.text)=\"\(XMLValue.escaped(attribute.value.text))\""
        }
    }
}
