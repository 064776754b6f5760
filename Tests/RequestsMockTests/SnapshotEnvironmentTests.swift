import Foundation
import RequestsMock
import TestSupport
import Testing

/// Tests of the variable `REQUESTS_RECORD`, each in child processes whose environment nothing else changes.
@Suite("Wire snapshots: environment", .timeLimit(.minutes(10)))
struct SnapshotEnvironmentTests {
    private static let emma = "GET /api/books/Emma HTTP/1.1\nHost: library.test\nAccept: application/json\n"

    @Test("with REQUESTS_RECORD a snapshot is recorded, and without it compared")
    func environment() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "sub/book.txt")
        await #expect(processExitsWith: .success) { [path = path as String] in
            unsetenv("REQUESTS_RECORD")
            let error = #expect(throws: WireSnapshotError.self) {
                try library(MockExecutor()).assertWire(StubbedBooks.titled("Emma"), recordedIn: path)
            }
            #expect(error?.problem == .missing)
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        await #expect(processExitsWith: .success) { [path = path as String] in
            setenv("REQUESTS_RECORD", "1", 1)
            try library(MockExecutor()).assertWire(StubbedBooks.titled("Emma"), recordedIn: path)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.emma)
        await #expect(processExitsWith: .success) { [path = path as String] in
            unsetenv("REQUESTS_RECORD")
            let client = library(MockExecutor())
            try client.assertWire(StubbedBooks.titled("Emma"), recordedIn: path)
            let error = #expect(throws: WireSnapshotError.self) {
                try client.assertWire(StubbedBooks.titled("Persuasion"), recordedIn: path)
            }
            #expect(error?.problem == .differs)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == Self.emma)
        await #expect(processExitsWith: .success) { [path = path as String] in
            setenv("REQUESTS_RECORD", "1", 1)
            try library(MockExecutor()).assertWire(StubbedBooks.titled("Persuasion"), recordedIn: path)
        }
        let replaced = Self.emma.replacing("Emma", with: "Persuasion")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == replaced)
    }
}
