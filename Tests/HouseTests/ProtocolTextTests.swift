import Foundation
import TestSupport
import Testing

/// Protocol text is read and written as bytes (Docs/Decisions/0023-protocol-text-is-bytes.md).
///
/// The scan reads source text, not types: it recognizes a string by its declaration in the file or by the operation.
/// The property tests (ProtocolWriterTests and the readers' tests) cover uses that only the types reveal.
@Suite("Protocol text")
struct ProtocolTextTests {
    static let folders = [
        "Requests/Vocabulary", "Requests/Exchange", "Requests/Description", "Requests/Execution", "RequestsFoundation",
        "RequestsHTTP1", "RequestsHTTP2", "RequestsMiddleware", "RequestsMock", "RequestsPOSIX", "RequestsSocket",
        "RequestsTLS", "RequestsTestServer", "RequestsURLSession", "RequestsXML",
    ].map { "Sources/" + $0 }

    /// A line that works on characters or compares by canonical equivalence.
    struct Finding: CustomStringConvertible {
        let file: String
        let line: Int
        let text: String
        let rule: String

        var description: String { "\(file):\(line): \(rule): \(text)" }
    }

    /// A finding that is allowed: the file, a part of the line, and the reason.
    struct Exception: CustomStringConvertible {
        let file: String
        let expression: String
        let reason: String

        init(_ file: String, _ expression: String, _ reason: String) {
            self.file = file
            self.expression = expression
            self.reason = reason
        }

        var description: String { "\(file): \(expression)" }

        func covers(_ finding: Finding) -> Bool {
            finding.file == "Sources/" + file + ".swift" && finding.text.contains(expression)
        }
    }

    /// The findings of the scan, which runs once for all tests.
    static let findings = Result { () throws -> (operations: [Finding], equality: [Finding]) in
        let files = try folders.flatMap(Repository.here.swiftFiles).map(SourceText.init)
        let compared = Set(files.flatMap(\.typesThatDefineEquality))
        return (files.flatMap(\.findings), files.flatMap { $0.synthesizedEquality(besides: compared) })
    }

    @Test(
        "no file that reads or writes protocol text works on characters or compares strings canonically",
        .rows("R-1", "R-8"))
    func operations() throws {
        for finding in try Self.findings.get().operations {
            #expect(Self.exceptions.contains { $0.covers(finding) }, "\(finding)")
        }
    }

    @Test("types that contain protocol text compare it byte for byte", .rows("R-1"))
    func equality() throws {
        for finding in try Self.findings.get().equality {
            #expect(Self.exceptions.contains { $0.covers(finding) }, "\(finding)")
        }
    }

    @Test("every exception is needed and has a reason")
    func exceptionsAreNeeded() throws {
        let findings = try Self.findings.get()
        for exception in Self.exceptions {
            let isNeeded = (findings.operations + findings.equality).contains(where: exception.covers)
            #expect(isNeeded, "no longer needed: \(exception)")
            #expect(exception.reason.split(separator: " ").count > 3, "\(exception)")
        }
    }

    @Test(
        "the scan finds operations on characters and comparisons of strings",
        arguments: [
            "text.hasPrefix(other)", "text.split(separator: \",\")", "value.replacing(\"'\", with: \"\")",
            "text.drop(while: \\.isWhitespace)", "text.contains(\"\\n\")", "text.first { $0 == \"/\" }",
            "a == \"KEEP\"",
            "text == other", "text.dropFirst(2)", "name.lowercased()", "let c: Character = x", "text.firstMatch(of: r)",
            "case \"a;b\": 1", "text.starts(with: \"//\")", "other != text",
            "text.first == \"/\"", "if text.last != \"/\" {", "text.contains(other)", "text.split(separator: mark)",
            "text.firstRange(of: other)", "for character in text {", "for c in text[..<end] {",
            "for case let c in text where c != other.utf8.count {",
        ])
    func finds(line: String) {
        let code = "func f(text: String, other: String) {\n    \(line)\n}"
        #expect(SourceText(path: "Sources/A.swift", code).findings.count == 1, "\(line)")
    }

    @Test(
        "the scan does not report operations on bytes",
        arguments: [
            "text.utf8.split(separator: 1)", "bytes.starts(with: \"//\".utf8)", "text.hasBytePrefix(\"x\")",
            "// text.hasPrefix(x)", "bytes == other.bytes", "a == \"GET\"", "text.unicodeScalars.contains(\"x\")",
            "text.utf8.dropFirst()", "text.count", "replacing(path: text)", "for byte in text.utf8 {",
            "for item in text?.splitBytes(at: \"&\") ?? [] {",
            "bytes.contains(other)", "for byte in bytes {", "text.utf8.first == other", "bytes.first == 1",
        ])
    func leaves(line: String) {
        let code = "func f(text: String, bytes: [UInt8]) {\n    \(line)\n}"
        #expect(SourceText(path: "Sources/A.swift", code).findings.isEmpty, "\(line)")
    }

    @Test("the scan finds synthesized equality of text")
    func findsTypes() {
        let code =
            "struct A: Hashable {\n    let a: String\n}\nenum B: Equatable {\n    case b(String)\n}\nstruct C {\n}\n"
        let source = SourceText(path: "Sources/A.swift", code)
        #expect(source.synthesizedEquality(besides: []).map(\.line) == [1, 4])
        #expect(source.synthesizedEquality(besides: ["A", "B"]).isEmpty)
        let compared = SourceText(path: "a", "extension X.A {\n    static func == (a: Self, b: Self)\n}")
        #expect(compared.typesThatDefineEquality == ["A"])
    }
}
