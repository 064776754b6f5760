extension XMLValue {
    /// Creates an element with the content that a closure lists: elements and strings, with `if` and `for`.
    ///
    /// ```swift
    /// XMLValue("propfind", namespace: "DAV:") {
    ///     XMLValue("prop") {
    ///         for name in names { XMLValue(name) }
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name, including its prefix.
    ///   - namespace: The namespace of the name; nil for none. It is declared where the element is written, and applies
    ///     to the elements in it that have none of their own and the same prefix.
    ///   - attributes: The attributes by their names.
    ///   - content: The content, in order.
    public init(
        _ name: String, namespace: String? = nil, attributes: Attributes = [:],
        @ContentBuilder content: () throws -> [Node]
    ) rethrows {
        self.init(name, namespace: namespace, attributes: attributes, content: try content())
    }

    /// A builder for the content of an element.
    @resultBuilder
    public struct ContentBuilder {
        /// Returns an element as content.
        public static func buildExpression(_ element: XMLValue) -> [Node] { [.element(element)] }

        /// Returns a text as content.
        public static func buildExpression(_ text: String) -> [Node] { [.text(text)] }

        /// Returns nodes, such as the children of another element, as content.
        public static func buildExpression(_ nodes: [Node]) -> [Node] { nodes }

        /// Returns the content of a block.
        public static func buildBlock(_ content: [Node]...) -> [Node] { Array(content.joined()) }

        /// Returns the content of an `if` without `else`.
        public static func buildOptional(_ content: [Node]?) -> [Node] { content ?? [] }

        /// Returns the content of the `if` branch of an `if` with `else`.
        public static func buildEither(first content: [Node]) -> [Node] { content }

        /// Returns the content of the `else` branch of an `if`.
        public static func buildEither(second content: [Node]) -> [Node] { content }

        /// Returns the content of a `for`.
        public static func buildArray(_ content: [[Node]]) -> [Node] { Array(content.joined()) }
    }
}
