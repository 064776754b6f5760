import Foundation

// Prints the public declarations and conformances in symbol graphs, one a line: `PublicAPI GRAPH…`.

/// The part of a symbol graph that is printed.
struct Graph: Decodable {
    struct Symbol: Decodable {
        struct Identifier: Decodable { let precise: String }
        struct Fragment: Decodable { let spelling: String }
        struct Extension: Decodable { let constraints: [Constraint]? }

        let identifier: Identifier
        let pathComponents: [String]
        let declarationFragments: [Fragment]?
        /// The extension that declares the symbol; nil for a member of the type itself.
        let swiftExtension: Extension?
    }

    struct Relationship: Decodable {
        let kind: String
        let source: String
        let target: String
        /// The name of a target in another module.
        let targetFallback: String?
        let swiftConstraints: [Constraint]?
    }

    struct Constraint: Decodable {
        let kind: String
        let lhs: String
        let rhs: String

        var text: String { "\(lhs) \(kind == "sameType" ? "==" : ":") \(rhs)" }
    }

    let symbols: [Symbol]
    let relationships: [Relationship]
}

/// Returns whether a type conforms to `name` without saying so, or because it is `Sendable`.
func isImplied(_ name: String) -> Bool {
    ["Copyable", "Escapable", "SendableMetatype"].contains(name.split(separator: ".").last)
}

func condition(_ constraints: [Graph.Constraint]?) -> String {
    let constraints = (constraints ?? []).filter { $0.lhs != "Self" && !isImplied($0.rhs) }
    let texts = constraints.map(\.text)
    return texts.isEmpty ? "" : " where " + texts.joined(separator: ", ")
}

let graphs = try CommandLine.arguments.dropFirst().map { path in
    try JSONDecoder().decode(Graph.self, from: Data(contentsOf: URL(filePath: path)))
}
var names: [String: String] = [:]
var lines: Set<String> = []
for symbol in graphs.flatMap(\.symbols) {
    names[symbol.identifier.precise] = symbol.pathComponents.joined(separator: ".")
    let owner = symbol.pathComponents.dropLast().joined(separator: ".")
    let declaration = (symbol.declarationFragments ?? []).map(\.spelling).joined()
    let text =
        declaration.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        + condition(symbol.swiftExtension?.constraints)
    lines.insert(owner.isEmpty ? text : "\(owner): \(text)")
}
for relationship in graphs.flatMap(\.relationships) {
    guard let source = names[relationship.source] else { continue }
    let target = names[relationship.target] ?? relationship.targetFallback ?? relationship.target
    switch relationship.kind {
    case "conformsTo" where !isImplied(target):
        lines.insert("\(source) conforms to \(target)" + condition(relationship.swiftConstraints))
    case "defaultImplementationOf":
        lines.insert("\(source) is implemented by default for \(target)")
    case "inheritsFrom":
        lines.insert("\(source) inherits from \(target)")
    default:
        continue
    }
}
for line in lines.sorted() { print(line) }
