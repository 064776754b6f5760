import Foundation

/// The lines of a file without comments, and a scan of them for operations on strings.
struct SourceText {
    let path: String
    let lines: [String]

    init(_ file: Repository.SourceFile) {
        self.init(path: file.path, file.text)
    }

    init(path: String, _ text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            // Most comments fill their line, and need no pattern.
            if line.utf8.drop(while: { $0 == UInt8(ascii: " ") }).starts(with: "//".utf8) { return "" }
            return line.contains("//") ? String(line.replacing(/(?:^|\s)\/\/.*$/, with: "")) : String(line)
        }
    }

    private func finding(_ index: Int, _ rule: String) -> ProtocolTextTests.Finding {
        ProtocolTextTests.Finding(
            file: path, line: index + 1, text: lines[index].trimmingCharacters(in: .whitespaces), rule: rule)
    }

    /// The places where the code works on characters or compares strings, at most one for each line.
    var findings: [ProtocolTextTests.Finding] {
        lines.indices.compactMap { index in rule(brokenAt: index).map { finding(index, $0) } }
    }

    private func rule(brokenAt index: Int) -> String? {
        if lines[index].isEmpty { return nil }
        // An operation on a view of bytes or scalars is not an operation on the string.
        let line = ["utf8", "utf16", "unicodeScalars"].reduce(lines[index]) { line, view in
            guard line.contains(view) else { return line }
            return line.replacing(".\(view)?.", with: "\u{1}").replacing(".\(view).", with: "\u{1}")
        }
        for operation in Self.operations where operation.isFound(in: line) { return operation.rule }
        if line.contains("$0 == \"") || line.contains("$0 != \""), !lines[index].contains("unicodeScalars") {
            return "comparison of a character"
        }
        if Self.comparedLiterals(in: line).contains(where: Self.hasDouble) { return "literal with a canonical double" }
        if line.contains(" == ") || line.contains(" != ") {
            let comparison = #/(?:^|[\s(!.])(\w+)[?\]]? [=!]= (?!nil\b|")(?:\w+[.?!]+)*(\w+)\b(?![.(])/#
            for match in line.matches(of: comparison) {
                let operands = [String(match.1), String(match.2)]
                if operands.contains(where: { isString($0, at: index) }) { return "comparison of strings" }
            }
        }
        var names: [Substring] = []
        if line.contains(".first ") || line.contains(".last ") {
            names += line.matches(of: #/\b(\w+)\.(?:first|last) [=!]= "/#).map(\.1)
        }
        if line.contains("for "), line.contains(" in ") {
            names += line.matches(of: #/\bfor (?:case )?(?:let )?\w+ in (\w+)\b(?![.(?!])/#).map(\.1)
        }
        if names.contains(where: { isString(String($0), at: index) }) { return "characters of a string" }
        for word in Self.slicing where line.contains("." + word) {
            for match in line.matches(of: #/\b(\w+)\.(\w+)[({]/#) where match.2 == word {
                if isString(String(match.1), at: index) { return "characters of a string" }
            }
        }
        return nil
    }

    /// Operations of strings that work on characters.
    private struct Operation: Sendable {
        let rule: String
        /// The names, one of which the line must contain: a search for text is faster than a pattern.
        let names: [String]
        /// The pattern that the line must also match, or nil.
        let pattern: (@Sendable () -> Regex<Substring>)?

        func isFound(in line: String) -> Bool {
            guard names.contains(where: line.contains) else { return false }
            return pattern.map { line.contains($0()) } ?? true
        }
    }

    private static let operations: [Operation] = [
        Operation(
            rule: "operation of String",
            names: [
                ".hasPrefix(", ".hasSuffix(", ".lowercased(", ".uppercased(", ".trimmingPrefix(", ".components(",
                ".trimmingCharacters(", ".replacingOccurrences(",
            ], pattern: nil),
        Operation(rule: "replacement of characters", names: [".replacing("]) { #/\.replacing\((?!\w+:|$)/# },
        Operation(
            rule: "search for characters",
            names: [
                ".split(", ".firstIndex(", ".lastIndex(", ".contains(", ".starts(", ".firstRange(", ".ranges(",
                ".prefix(",
            ]
        ) { #/\.[a-zA-Z]+\((?:\w+: )?"(?:[^"\\]|\\.)*"(?!\.utf8)/# },
        Operation(
            rule: "property of a character",
            names: [
                ".isWhitespace", ".isLetter", ".isNumber", ".isNewline", ".isHexDigit", ".isPunctuation",
                ".isWholeNumber", ".isUppercase", ".isLowercase",
            ]
        ) { #/\.is[A-Z][a-zA-Z]+\b(?!\()/# },
        Operation(rule: "character", names: ["Character"]) { #/\bCharacter\b/# },
        Operation(
            rule: "regular expression",
            names: [".firstMatch(of:", ".wholeMatch(of:", ".prefixMatch(of:", ".matches(of:"], pattern: nil),
    ]

    private static let slicing = [
        "dropFirst", "dropLast", "removeFirst", "removeLast", "popFirst", "popLast", "reversed", "prefix", "suffix",
        "firstIndex", "lastIndex", "contains", "split", "firstRange", "ranges", "starts",
    ]

    /// Returns the literals that `line` compares with.
    private static func comparedLiterals(in line: String) -> [Substring] {
        if line.contains("case \""), line.contains(/^\s*case "/) {
            return line.matches(of: /"((?:[^"\\]|\\.)*)"/).map(\.1)
        }
        guard line.contains("= \"") else { return [] }
        return line.matches(of: /[=!]= "((?:[^"\\]|\\.)*)"/).map(\.1)
    }

    /// Whether non-ASCII text can be canonically equivalent to `literal`: K, `;` and the grave accent have a double.
    private static func hasDouble(_ literal: Substring) -> Bool {
        literal.unicodeScalars.contains { !$0.isASCII || $0 == "K" || $0 == ";" || $0 == "`" }
    }

    /// Whether the nearest declaration of `name` before the line, or else any in the file, declares a string.
    private func isString(_ name: String, at index: Int) -> Bool {
        let typed = lines.indices.filter { lines[$0].contains("\(name): ") || lines[$0].contains(" \(name) = ") }
        let types = "(?:String|Substring|StringProtocol)\\??(?=[\\s,)={]|$)"
        guard !typed.isEmpty, let declaration = try? Regex("(?:\\b\(name): |\\b(?:let|var) \(name) = )"),
            let string = try? Regex("\\b\(name): (?:inout |some |any |consuming )?" + types)
        else { return false }
        if let nearest = typed.last(where: { $0 <= index && lines[$0].contains(declaration) }) {
            return lines[nearest].contains(string)
        }
        return typed.contains { lines[$0].contains(string) }
    }
}

extension SourceText {
    /// Returns the name and the lines of each type or extension, by the indentation of its braces.
    private func scopes(
        _ pattern: Regex<(Substring, Substring, Substring)>
    ) -> [(name: String, body: Range<Int>, head: String)] {
        lines.indices.compactMap { index in
            guard lines[index].hasSuffix("{") || lines[index].hasSuffix("}") || lines[index].hasSuffix(","),
                let match = lines[index].firstMatch(of: pattern)
            else { return nil }
            let indentation = lines[index].prefix { $0 == " " }
            let end = lines[index...].firstIndex { $0.hasPrefix(indentation + "}") } ?? lines.endIndex
            let bodyStart = lines[index...].firstIndex { $0.hasSuffix("{") || $0.hasSuffix("}") } ?? index
            let head = lines[index...bodyStart].joined(separator: " ")
            return (match.2.split(separator: ".").last.map(String.init) ?? "", index..<max(end, index), head)
        }
    }

    /// The types for which this file defines `==`.
    var typesThatDefineEquality: [String] {
        scopes(/\b(extension|struct|enum|class) ([\w.]+)/).flatMap { scope in
            lines[scope.body].contains { $0.contains("static func == (") } ? [scope.name] : []
        }
    }

    /// Returns the types with synthesized equality of strings, except those in `compared`, which define their own.
    func synthesizedEquality(besides compared: Set<String>) -> [ProtocolTextTests.Finding] {
        scopes(/\b(struct|enum) (\w+)/).compactMap { scope in
            let isDeclared = { (line: String) in line.contains("Hashable") || line.contains("Equatable") }
            let isEquatable =
                isDeclared(scope.head)
                || lines.contains { $0.contains("extension \(scope.name):") && isDeclared($0) }
            guard isEquatable, !compared.contains(scope.name) else { return nil }
            let indentation = String(lines[scope.body.lowerBound].prefix { $0 == " " }) + "    "
            let holdsText = lines[scope.body].contains { line in
                guard line.hasPrefix(indentation), !line.hasPrefix(indentation + " "), !line.contains("static ") else {
                    return false
                }
                return line.contains(/\b(?:let|var) \w+: (?:\[|Set<|Range<)?(?:String|Substring)\b[^{]*$/)
                    || line.contains(/^\s*case .*\((?:\w+: )?[^)]*\bString\b/)
            }
            return holdsText ? finding(scope.body.lowerBound, "synthesized equality of text") : nil
        }
    }
}
