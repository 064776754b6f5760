import Requests

/// The differences between a stub and a request that it does not match, in lines without secrets.
struct RequestDifferences {
    /// The lines, such as `path: expected “/a”, received “/b”`.
    private(set) var lines: [String] = []
    /// The amount of the differences: the stub with the smallest number is the nearest one.
    private(set) var distance = 0

    private let request: PreparedRequest
    private let candidate: MatchContext
    /// Whether bodies are compared in detail, which takes long for many stubs.
    private let isDetailed: Bool
    private var redact: (String) -> String

    /// The maximum number of fields that are compared, because the time grows with its square.
    private static let comparedNames = 100

    init(
        _ stub: Stub, _ candidate: MatchContext, isDetailed: Bool, redactedBy redact: @escaping (String) -> String
    ) {
        self.candidate = candidate
        self.isDetailed = isDetailed
        request = candidate.request
        self.redact = redact
        switch stub.condition {
        case .endpoint(let matcher): compare(with: matcher)
        case .endpointType(_, let name):
            let received = request.endpointType.map { String(describing: $0) } ?? "no endpoint"
            add("endpoint", name, request.redirectedFrom == nil ? received : "a redirect", 6)
        case .pattern(_, let text, .failure(let error)):
            add(line: "pattern: \(ErrorText.quoted(url: text)) is malformed: \(error)", 40)
        case .pattern(let method, _, .success(let pattern)): compare(with: method, pattern, candidate.target)
        case .predicate: add(line: "condition: returned false", 20)
        }
    }

    private mutating func compare(with matcher: EndpointMatcher) {
        if !matcher.acceptsType(of: request) {
            let received = request.endpointType.map { String(describing: $0) } ?? "no endpoint"
            add("endpoint", matcher.name, received, 2)
        }
        guard let api = request.api else {
            return add(line: "API: the request has none; perform it with a Client or as a Request", 20)
        }
        let expected: PreparedRequest
        let prepared = matcher.prepared(for: candidate, api)
        switch prepared.request {
        case .success(let prepared): expected = prepared
        case .failure(let error): return add(line: "endpoint: cannot be prepared: \(redact("\(error)"))", 20)
        }
        // The endpoint of the stub may have other secrets than the request.
        let (redaction, redact) = (ExchangeRedaction(expected), redact)
        self.redact = { redaction.text(redact($0)) }
        if expected.method != request.method { add("method", "\(expected.method)", "\(request.method)", 3) }
        if !expected.target.hasSameOrigin(as: request.target) {
            add("origin", expected.target.origin, request.target.origin, 4)
        }
        compare(path: expected.target.path)
        let (left, right) = (expected.target.query ?? "", request.target.query ?? "")
        if !left.hasSameBytes(as: right) { compare(StubPattern.items(of: left), StubPattern.items(of: right), 1) }
        compare(prepared.body, expected)
        compareFields(expected)
    }

    private mutating func compare(
        with method: HTTPMethod?, _ pattern: StubPattern, _ target: ReceivedTarget
    ) {
        if let method, !ASCIIFolding.areEqual(method.rawValue, request.method.rawValue) {
            add("method", "\(method)", "\(request.method)", 3)
        }
        if let scheme = pattern.scheme, !scheme.hasSameBytes(as: request.target.scheme) {
            add("scheme", scheme, request.target.scheme, 2)
        }
        var origin = pattern
        origin.query = []
        origin.scheme = nil
        if !origin.matchesOriginAndQuery(of: target) {
            let port = pattern.authority?.port.map { ":\($0)" } ?? ""
            let expected = pattern.authority.map { $0.host + port } ?? target.base?.authority ?? ""
            add("host", expected, request.target.authority, 4)
        }
        let components = pattern.comparedComponents(of: target)
        if components.map(pattern.matchesPath) != true {
            // A relative pattern is compared with the path below the environment.
            let below = pattern.isRooted ? nil : components.map { $0.map(\.text).joined(separator: "/") }
            compare(path: pattern.path, below ?? request.target.path)
        }
        if pattern.isExact { return compare(pattern.query, pattern.comparable(target.query), 1) }
        let received = Set(target.query)
        let missing = pattern.query.filter { !received.contains($0) }
        compare(missing, target.query, 1, isSubset: true)
    }

    private mutating func compare(path expected: String) {
        if !expected.hasSameBytes(as: request.target.path) { compare(path: expected, request.target.path) }
    }

    private mutating func compare(path expected: String, _ received: String) {
        let (left, right) = (Array(expected.utf8), Array(received.utf8))
        let prefix = zip(left, right).prefix { $0 == $1 }.count
        let remaining = zip(left.dropFirst(prefix).reversed(), right.dropFirst(prefix).reversed())
        let suffix = remaining.prefix { $0 == $1 }.count
        add("path", expected, received, 1 + max(left.count, right.count) - prefix - suffix)
    }

    private mutating func compare(
        _ expected: [StubPattern.QueryItem], _ received: [StubPattern.QueryItem], _ weight: Int, isSubset: Bool = false
    ) {
        let names = (expected + (isSubset ? [] : received)).map(\.name)
        let (lefts, rights) = (Dictionary(grouping: expected, by: \.name), Dictionary(grouping: received, by: \.name))
        var seen: Set<ByteText> = []
        for name in names where seen.insert(name).inserted {
            let left = lefts[name, default: []].map(Self.text)
            let right = rights[name, default: []].map(Self.text)
            guard left != right else { continue }
            let isSecret = Redaction.standard.isSecret(name.text)
            let label = "query item \(ErrorText.quoted(redact(name.text), limit: 40))"
            add(label, isSecret ? hidden(left) : list(left), isSecret ? hidden(right) : list(right), weight)
        }
        // The same items in another order.
        if !isSubset, Set(expected) == Set(received), expected.count == received.count, expected != received {
            add(line: "query: the items have another order", 1)
        }
    }

    private static func text(of item: StubPattern.QueryItem) -> String { item.value?.text ?? "no value" }

    private func list(_ values: [String]) -> String? {
        values.isEmpty ? nil : values.map(redact).joined(separator: ", ")
    }

    private func hidden(_ values: [String]) -> String? { values.isEmpty ? nil : Redaction.placeholder }

    private mutating func compare(_ body: ComparedBody, _ expected: PreparedRequest) {
        if let problem = body.problem { return add(line: "body: cannot be read: \(redact("\(problem)"))", 20) }
        if let left = expected.body.bytesInMemory, left == request.body.bytesInMemory, !isDetailed { return }
        guard isDetailed else { return distance += 3 }
        // A body that was not read was not compared, because the target differs.
        guard let left = body.contentInMemory, let right = candidate.body.contentInMemory, left != right else { return }
        if expected.hasSecretBodies || request.hasSecretBodies {
            return add(line: "body: differs; it is not shown, because it may contain secrets", 2)
        }
        let types = [expected, request].map { $0.header[.contentType].flatMap { MediaType($0) } }
        if types[0] != types[1] {
            add("body", types[0]?.typeAndSubtype ?? "no type", types[1]?.typeAndSubtype ?? "no type", 1)
        }
        if let left = left.json, let right = right.json {
            let differences = JSONDifference.all(left, right, limit: 11)
            for difference in differences.prefix(10) {
                let text = { (value: JSONValue?) in
                    difference.isSecret && value != nil ? Redaction.placeholder : value.map(Self.text)
                }
                let (left, right) = (shown(json: text(difference.expected)), shown(json: text(difference.received)))
                // The names of members are the peer's text.
                add(line: "body\(redact(difference.path)): expected \(left), received \(right)", 1)
            }
            if differences.count > 10 { add(line: "body: more differences", 1) }
            return
        }
        let texts = [expected, request].map { shown in shown.body.bytesInMemory.flatMap { Self.text(of: $0, shown) } }
        add("body", texts[0], texts[1], 4)
    }

    /// Returns `value` as JSON without its secret members.
    private static func text(of value: JSONValue) -> String {
        String(decoding: ExchangeRedaction(nil).body(Array(value.description.utf8), .empty), as: UTF8.self)
    }

    private static func text(of body: Data, _ request: PreparedRequest) -> String? {
        if body.isEmpty { return nil }
        guard body.count <= 4_096 else { return ErrorText.bytes(body.count) }
        let shown = ExchangeRedaction(request).body(Array(body), request.header)
        return String(validating: shown, as: UTF8.self) ?? ErrorText.bytes(body.count)
    }

    /// Adds the fields that differ; they do not count for ``distance``.
    private mutating func compareFields(_ expected: PreparedRequest) {
        let names = (expected.header.map(\.name) + request.header.map(\.name))
        var seen: Set<Field.Name> = []
        let redaction = ExchangeRedaction(request)
        for name in names.prefix(Self.comparedNames) where seen.insert(name).inserted {
            let (left, right) = (expected.header.values(of: name), request.header.values(of: name))
            guard left != right else { continue }
            let isSecret = redaction.isSecret(name)
            let label = "field \(name) (not compared)"
            add(label, isSecret ? hidden(left) : list(left), isSecret ? hidden(right) : list(right), 0)
        }
    }

    // MARK: Lines

    private mutating func add(_ label: String, _ expected: String?, _ received: String?, _ distance: Int) {
        add(line: "\(label): expected \(shown(expected)), received \(shown(received))", distance)
    }

    private func shown(json value: String?) -> String {
        guard let value else { return "nothing" }
        let text = redact(value)
        return text.unicodeScalars.count > ErrorText.peerTextLimit
            ? String(text.unicodeScalars.prefix(ErrorText.peerTextLimit)) + "…" : text
    }

    private func shown(_ value: String?) -> String {
        // Redaction comes before cutting, because a part of a secret would not be found.
        value.map { ErrorText.quoted(redact($0), limit: ErrorText.peerTextLimit) } ?? "nothing"
    }

    private mutating func add(line: String, _ distance: Int) {
        lines.append(line)
        self.distance += distance
    }
}

extension MediaType {
    /// The type and the subtype without the parameters.
    fileprivate var typeAndSubtype: String { "\(type.rawValue)/\(subtype.rawValue)" }
}
