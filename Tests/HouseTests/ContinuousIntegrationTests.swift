import Foundation
import TestSupport
import Testing

/// The rules by which `.ci/run` chooses tests.
@Suite("Continuous integration")
struct ContinuousIntegrationTests {
    @Test("the thread sanitizer checks a new suite or test with the tag, and no other of its target")
    func concurrentTests() throws {
        let folder = TemporaryDirectory()
        let source = """
            @Suite("new", .tags(.concurrent), .serialized)
            struct NewTests {}

            @Suite("old")
            final class OldTests {
                @Test("one", .tags(.concurrent), arguments: [1, 2])
                func one(number: Int) {}

                @Test("another")
                func another() {}
            }
            """
        try FileManager.default.createDirectory(
            atPath: folder.path(of: "SomeTests"), withIntermediateDirectories: true)
        try folder.write(Array(source.utf8), to: "SomeTests/NewTests.swift")
        let script = Repository.here.root.appending(path: ".ci/concurrent-tests").path
        let outcome = try Outcome.running(script, [folder.path])
        let pattern = outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let names = pattern.split(separator: "|")
        #expect(outcome.status == 0 && names.suffix(2) == ["SomeTests.NewTests/", #"SomeTests.OldTests/one\("#])
        // Targets whose modules have threads of their own need no tag.
        #expect(names.contains("RequestsSocketTests"))
        let filter = try Regex(pattern)
        #expect("SomeTests.OldTests/one(number:)/NewTests.swift:6:6".contains(filter))
        #expect(!"SomeTests.OldTests/another()/NewTests.swift:9:6".contains(filter))
    }
}
