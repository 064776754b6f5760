/// The path pattern of a route, in which `:name` matches one component (PM-131).
struct RoutePattern: Sendable {
    private enum Component: Sendable {
        case literal([UInt8])
        case parameter(String)
    }

    private let components: [Component]

    init(_ text: String) {
        components = Self.split(path: text).map { component in
            // A lone colon is a literal.
            component.utf8.count > 1 && component.hasBytePrefix(":")
                ? .parameter(String(component.droppingFirstBytes(1)))
                : .literal(Array(PercentEncoding.decodeUTF8(component).utf8))
        }
    }

    /// Returns the parameters of `path`, decoded; nil if the path does not match.
    func parameters(in path: String) -> [String: String]? {
        let received = Self.split(path: path)
        guard received.count == components.count else { return nil }
        var parameters: [String: String] = [:]
        for (expected, component) in zip(components, received) {
            // Split before decoding, because an encoded slash is not a separator.
            let decoded = PercentEncoding.decodeUTF8(component)
            switch expected {
            case .literal(let bytes): if !decoded.utf8.elementsEqual(bytes) { return nil }
            case .parameter(let name):
                if decoded.isEmpty { return nil }
                parameters[name] = decoded
            }
        }
        return parameters
    }

    /// Returns the components of a path, without one slash at its end.
    private static func split(path: String) -> [Substring] {
        var components = path.splitBytes(at: "/", omittingEmptySubsequences: false)[...]
        if components.first?.isEmpty == true { components.removeFirst() }
        if components.last?.isEmpty == true { components.removeLast() }
        return Array(components)
    }
}
