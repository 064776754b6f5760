import Foundation
import TestSupport
import Testing

/// The compiler's errors for frequent mistakes (Tests/Fixtures/Mistakes).
@Suite("Diagnostics", .timeLimit(.minutes(10)))
struct DiagnosticsTests {
    /// The modules that are built with these tests.
    static let modules = Repository.products.appending(path: "Modules")

    static var hasModules: Bool {
        FileManager.default.fileExists(atPath: modules.appending(path: "Requests.swiftmodule").path)
    }

    static let files = ["Tests/Fixtures/Mistakes/FrequentMistakes.swift"]

    /// Returns the messages of the errors in `output`, by line.
    private static func errors(in output: String, of file: String) -> [Int: [String]] {
        var errors: [Int: [String]] = [:]
        for line in output.split(separator: "\n") {
            guard let match = line.firstMatch(of: /^[^ ].*\.swift:(\d+):\d+: error: (.*)$/), line.contains(file) else {
                continue
            }
            errors[Int(match.1) ?? 0, default: []].append(String(match.2))
        }
        return errors
    }

    @Test(
        "each mistake has one error, whose sentence says what to write", .rows("HT-2"),
        .enabled(if: hasModules, "the modules of the package are not beside the tests"), arguments: files)
    func mistakes(file: String) throws {
        let path = Repository.here.root.appending(path: file).path
        let outcome = try Outcome.running(
            "/usr/bin/env",
            [
                "swiftc", "-typecheck", "-module-name", "Mistakes", "-swift-version", "6", "-I", Self.modules.path,
                "-I", Repository.here.root.appending(path: "Sources/CRequestsClock").path, path,
            ])
        let found = Self.errors(in: outcome.output, of: file)
        try #require(!found.isEmpty, "\(outcome.output)")
        let lines = try Repository.here.text(of: file).split(separator: "\n", omittingEmptySubsequences: false)
        var expected = 0
        for (index, line) in lines.enumerated() {
            let messages = found[index + 1] ?? []
            guard let comment = line.firstRange(of: "  // error: ") else {
                #expect(messages.isEmpty, "\(file):\(index + 1): \(messages)")
                continue
            }
            expected += 1
            let text = String(line[comment.upperBound...])
            #expect(messages.count == 1 && messages[0].contains(text), "\(file):\(index + 1): \(messages)")
        }
        #expect(expected >= 45)
        // An error without a place, such as one that asks for a bug report, is not an explanation.
        #expect(!outcome.output.contains("submit a bug report"))
    }
}
