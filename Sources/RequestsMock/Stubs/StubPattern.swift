import Requests

/// The URL pattern of a stub, with the rules of PMHTTP (PM-124, PM-125).
struct StubPattern: Sendable {
    enum Component: Sendable {
        case literal(ByteText)
        case parameter(String)
    }

    /// One item of a query, with both parts decoded.
    struct QueryItem: Hashable, Sendable {
        let name: ByteText
        let value: ByteText?

        /// The item in the form in which a recording contains it.
        var withoutSecret: QueryItem {
            guard value != nil, Redaction.standard.isSecret(name.text) else { return self }
            return hidden
        }

        /// The item without its value.
        var hidden: QueryItem { QueryItem(name: name, value: ByteText(Redaction.placeholder)) }

        /// Whether a part of the value was redacted in a recording.
        var isHidden: Bool { value?.isRedacted ?? false }
    }

    /// The problem of a text that is not a pattern.
    struct SyntaxError: Error, CustomStringConvertible {
        let description: String
    }

    var scheme: String?
    /// The host in lower case and, if the pattern contains one, the port.
    let authority: (host: String, port: Int?)?
    /// Whether the path is not below the environment's path.
    let isRooted: Bool
    private(set) var components: [Component]
    var query: [QueryItem]
    /// Whether the query must have no further items, as in a recording.
    private(set) var isExact = false
    /// The names of the query items whose values are redacted in a recording.
    private var hiddenNames: Set<ByteText> = []

    init(_ text: String) throws(SyntaxError) {
        let withoutFragment = text.splitBytes(at: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
        let parts = withoutFragment.splitBytes(at: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var remainder = parts[0]
        query = parts.count > 1 ? Self.items(of: parts[1]) : []
        if let end = Self.schemeEnd(of: remainder) {
            scheme = ASCIIFolding.folded(String(remainder[..<end]))
            remainder = remainder[end...].droppingFirstBytes(1)
        } else {
            scheme = nil
        }
        if remainder.hasBytePrefix("//") {
            let pieces = remainder.droppingFirstBytes(2).splitBytes(
                at: "/", maxSplits: 1, omittingEmptySubsequences: false)
            // A scheme without a default port, so that a port in the pattern is kept.
            guard let target = try? TargetURI("pattern://\(pieces[0])/") else {
                throw SyntaxError(description: "\(ErrorText.quoted(url: "//" + pieces[0])) has an invalid host")
            }
            authority = (target.host, target.port)
            isRooted = true
            remainder = pieces.count > 1 ? pieces[1] : ""
        } else {
            authority = nil
            isRooted = remainder.hasBytePrefix("/")
        }
        components = remainder.splitBytes(at: "/").map { component in
            // A lone colon is a literal.
            component.utf8.count > 1 && component.hasBytePrefix(":")
                ? .parameter(String(component.droppingFirstBytes(1))) : .literal(Self.decoded(component))
        }
    }

    /// Creates a pattern that matches only requests to `url`.
    ///
    /// The values of secret query items are not compared, nor are components and values that were redacted.
    init(exactly url: String) throws(SyntaxError) {
        try self.init(url)
        isExact = true
        hiddenNames = Set(query.filter(\.isHidden).map(\.name))
        query = comparable(query)
        components = components.map { component in
            switch component {
            case .parameter(let name): .literal(ByteText(":\(name)"))
            case .literal(let literal):
                literal.isRedacted ? .parameter("redacted") : component
            }
        }
    }

    /// The path as text, without the other parts of a URL.
    var path: String {
        let path = components.map { component in
            switch component {
            case .literal(let literal): literal.text
            case .parameter(let name): ":\(name)"
            }
        }.joined(separator: "/")
        return isRooted ? "/" + path : path
    }

    /// Returns the index of the colon after the scheme of an absolute URL; nil for a relative URL.
    private static func schemeEnd(of text: Substring) -> Substring.Index? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = text.utf8[..<colon]
        let isName = name.allSatisfy { byte in
            let isLetter = ASCIIFolding.folded(byte) &- UInt8(ascii: "a") < 26
            return isLetter || byte &- UInt8(ascii: "0") < 10 || "+-.".utf8.contains(byte)
        }
        guard isName, !name.isEmpty, text[colon...].hasBytePrefix("://") else { return nil }
        return colon
    }

    /// Returns `text` with its escapes decoded; unchanged if it does not encode UTF-8, so that different bytes differ.
    static func decoded(_ text: Substring) -> ByteText {
        ByteText(PercentEncoding.decodeUTF8(text))
    }

    /// Returns the components of an encoded path; doubled and trailing slashes are ignored.
    static func pathComponents(of path: String) -> [ByteText] {
        path.splitBytes(at: "/").map(decoded)
    }

    static func items(of query: some StringProtocol) -> [QueryItem] {
        String(query).splitBytes(at: "&").map { item in
            let parts = item.splitBytes(at: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return QueryItem(name: decoded(parts[0]), value: parts.count > 1 ? decoded(parts[1]) : nil)
        }
    }
}

extension StubPattern {
    /// Returns the path components of `request` that are compared with the pattern.
    ///
    /// The result is nil if the pattern is relative and the request is not below its environment.
    func comparedComponents(of request: ReceivedTarget) -> ArraySlice<ByteText>? {
        isRooted ? request.components[...] : request.componentsBelowBase
    }

    /// Returns whether scheme, host, port and query match; without a host, the pattern must match the environment's
    /// origin.
    func matchesOriginAndQuery(of request: ReceivedTarget) -> Bool {
        if let scheme, !scheme.hasSameBytes(as: request.target.scheme) { return false }
        if let authority {
            let port = authority.port ?? TargetURI.defaultPort(of: scheme ?? request.target.scheme)
            guard authority.host.hasSameBytes(as: request.target.host), port == request.target.effectivePort else {
                return false
            }
        } else if let base = request.base, !base.hasSameOrigin(as: request.target) {
            return false
        }
        if isExact { return Self.counts(query) == Self.counts(comparable(request.query)) }
        if query.isEmpty { return true }
        let received = Set(request.query)
        return query.allSatisfy(received.contains)
    }

    /// Returns items without the values that an exact pattern ignores.
    func comparable(_ items: [QueryItem]) -> [QueryItem] {
        items.map { hiddenNames.contains($0.name) ? $0.hidden : $0.withoutSecret }
    }

    private static func counts(_ items: [QueryItem]) -> [QueryItem: Int] {
        Dictionary(items.map { ($0, 1) }, uniquingKeysWith: +)
    }

    func matchesPath(_ components: ArraySlice<ByteText>) -> Bool {
        self.components.count == components.count
            && zip(self.components, components).allSatisfy { expected, component in
                if case .literal(let literal) = expected { literal == component } else { true }
            }
    }

    /// Returns the decoded values of the parameters in `components`, which match.
    func parameters(in components: ArraySlice<ByteText>) -> [String: String] {
        var values: [String: String] = [:]
        for case (.parameter(let name), let value) in zip(self.components, components) { values[name] = value.text }
        return values
    }
}

extension PreparedRequest {
    /// The target of the API's base URL; nil if the request has no API.
    var baseTarget: TargetURI? {
        (api as? any RequestProviding).flatMap { try? BaseTargets.target(of: $0.baseURL.absoluteString) }
    }
}

extension ByteText {
    /// Whether a part of the text was redacted in a recording.
    var isRedacted: Bool { text.utf8.contains(Redaction.placeholder.utf8) }
}

/// The parts of a request's target that are compared with patterns.
struct ReceivedTarget {
    let target: TargetURI
    /// The base URL of the environment; nil if the request has none.
    let base: TargetURI?
    let components: [ByteText]
    let query: [StubPattern.QueryItem]

    init(_ request: PreparedRequest) {
        target = request.target
        components = StubPattern.pathComponents(of: request.target.path)
        query = request.target.query.map(StubPattern.items) ?? []
        base = request.baseTarget
    }

    /// The components below the path of the environment; nil if the target is outside it.
    var componentsBelowBase: ArraySlice<ByteText>? {
        guard let base else { return components[...] }
        guard base.hasSameOrigin(as: target) else { return nil }
        let prefix = StubPattern.pathComponents(of: base.path)
        return components.starts(with: prefix) ? components[prefix.count...] : nil
    }
}
