import Requests

/// A report, without secrets, on a request to which no stub responds.
struct MissReport: Sendable {
    /// The problem in one line.
    let summary: String
    /// The nearest stubs, the exhausted and unused stubs, and a line of code that adds a stub.
    let text: String
    /// The method and the URL.
    let request: String

    /// The number of stubs that each part of the report shows.
    private static let shownStubs = 3

    init(_ request: PreparedRequest, exhausted: Stub?, stubs: [Stub]) {
        let redaction = ExchangeRedaction(request)
        let redact = { (text: String) in redaction.text(text) }
        self.request = RequestError.singleLine(redact("\(request.method) \(request.target)"))
        var lines: [String] = []
        var shown: [Stub] = []
        if let exhausted {
            summary = "the sequence of the stub has ended"
            lines += ["the stub:", "  \(exhausted.line(redact))"]
        } else {
            summary = stubs.isEmpty ? "the mock has no stubs" : "no stub matches"
            let nearest = Self.nearest(to: request, stubs, redact)
            shown = nearest.map(\.stub)
            if !nearest.isEmpty { lines.append("nearest stubs:") }
            for (stub, differences) in nearest {
                lines.append("  \(stub.line(redact))")
                lines += differences.lines.prefix(16).map { "    \($0)" }
            }
        }
        let spent = stubs.filter { $0.usage.isExhausted && $0 !== exhausted }
        lines += Self.list("exhausted stubs:", spent, redact)
        let unused = stubs.filter { stub in stub.usage.calls == 0 && !shown.contains { $0 === stub } }
        lines += Self.list("other unused stubs:", unused, redact)
        lines += ["to accept the request, add:", "  \(Self.suggestion(for: request, redact))"]
        // Redacted before control characters are replaced, because a secret may contain them.
        text = lines.map { "  \(RequestError.singleLine(redact($0)))" }.joined(separator: "\n")
    }

    private static func nearest(
        to request: PreparedRequest, _ stubs: [Stub], _ redact: @escaping (String) -> String
    ) -> [(stub: Stub, differences: RequestDifferences)] {
        let candidate = MatchContext(request)
        let differences = { (stub: Stub, isDetailed: Bool) in
            RequestDifferences(stub, candidate, isDetailed: isDetailed, redactedBy: redact)
        }
        let ranked = stubs.map { (stub: $0, distance: differences($0, false).distance) }
            .sorted { ($0.distance, $1.stub.number) < ($1.distance, $0.stub.number) }
        return ranked.prefix(shownStubs).map { ($0.stub, differences($0.stub, true)) }
    }

    private static func list(_ title: String, _ stubs: [Stub], _ redact: (String) -> String) -> [String] {
        if stubs.isEmpty { return [] }
        let shown = stubs.prefix(shownStubs).map { "  \($0.line(redact))" }
        return [title] + shown + (stubs.count > shownStubs ? ["  and \(stubs.count - shownStubs) more"] : [])
    }

    /// The length in bytes below which a suggested pattern includes further query items.
    private static let suggestedBytes = 400

    /// Returns a line of code that adds a stub for `request`.
    static func suggestion(for request: PreparedRequest, _ redact: (String) -> String) -> String {
        var pattern = request.target.path.splitBytes(at: "/").map { component -> String in
            // A component with a secret is a parameter, because it cannot be shown.
            if !redact(String(component)).hasSameBytes(as: component) { return "/:secret" }
            // A colon at the beginning would make a parameter.
            return component.hasBytePrefix(":") ? "/%3A\(component.droppingFirstBytes(1))" : "/\(component)"
        }.joined()
        if pattern.isEmpty { pattern = "/" }
        if let base = request.baseTarget, !base.hasSameOrigin(as: request.target) {
            pattern = "//\(request.target.authority)\(pattern)"
        }
        let items = (request.target.query ?? "").splitBytes(at: "&").filter { item in
            let name = StubPattern.items(of: item).first?.name.text ?? ""
            return !Redaction.standard.isSecret(name)
                && redact(String(item)).hasSameBytes(as: item)
        }
        var separator = "?"
        // The first items are sufficient, because a pattern matches requests with more.
        for item in items where pattern.utf8.count + item.utf8.count < suggestedBytes {
            pattern += separator + item
            separator = "&"
        }
        let isJSON = request.acceptedTypes.contains { MediaType.json.reads($0) }
        let result = isJSON ? ".json(\"{}\")" : ".status(200)"
        return "mock.on(\(Self.literal(of: request.method)), \(pattern.doubleQuoted), respond: \(result))"
    }

    private static func literal(of method: HTTPMethod) -> String {
        let known: [HTTPMethod] = [.get, .head, .post, .put, .patch, .delete, .options, .trace, .connect]
        return known.contains(method)
            ? ".\(ASCIIFolding.folded(method.rawValue))" : method.rawValue.doubleQuoted
    }
}

extension Stub {
    /// Returns the stub in one line: its condition, its place and the number of its calls.
    func line(_ redact: (String) -> String) -> String {
        let calls = usage.calls
        return "\(name(redact)) at \(location), called \(calls == 1 ? "once" : calls == 2 ? "twice" : "\(calls) times")"
    }

    private func name(_ redact: (String) -> String) -> String {
        switch condition {
        // The values of an endpoint may be secrets.
        case .endpoint(let matcher): "\(matcher.name)"
        case .endpointType(_, let name): "\(name).self"
        case .pattern(let method, let text, _):
            "\(method.map { "\($0)" } ?? "any method") \(ErrorText.quoted(redact(Redaction.standard.redacted(reference: text)), limit: 120))"
        case .predicate: "a condition"
        }
    }
}
