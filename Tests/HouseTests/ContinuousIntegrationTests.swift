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

    @Test("no test draws a random number without naming its generator, whose seed repeats a failure")
    func randomDraws() throws {
        // Random names of files and sockets change no result.
        let exceptions = ["Tests/TestCorpora/RandomSeed.swift", "Tests/TestSupport/TemporaryDirectory.swift"]
        let files = try Repository.here.swiftFiles(in: "Tests").filter { $0.target != "HouseTests" }
        for file in files where !exceptions.contains(file.path) {
            #expect(!file.text.contains("SystemRandomNumberGenerator"), "\(file.path)")
            for match in file.text.matches(of: /\.(?:random|randomElement|shuffled?)\(/) {
                var depth = 1
                let arguments = file.text[match.range.upperBound...].prefix { character in
                    depth += character == "(" ? 1 : character == ")" ? -1 : 0
                    return depth > 0
                }
                #expect(arguments.contains("using:"), "\(file.path): \(file.text[match.range])\(arguments))")
            }
        }
    }

    @Test("a test that runs in a child process draws its seed outside, because the output of a failed child is lost")
    func seedsOfChildren() throws {
        for file in try Repository.here.swiftFiles(in: "Tests") where file.target != "HouseTests" {
            for match in file.text.matches(of: /processExitsWith:/) {
                var depth = 0
                var hasBegun = false
                let body = file.text[match.range.upperBound...].prefix { character in
                    depth += character == "{" ? 1 : character == "}" ? -1 : 0
                    hasBegun = hasBegun || depth > 0
                    return !hasBegun || depth > 0
                }
                #expect(!body.contains("RandomSeed("), "\(file.path):\(body)")
            }
        }
    }
}
