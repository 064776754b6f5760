import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

private enum Shelf: String, Endpoint, CaseIterable {
    case fiction, poetry

    func request(from api: StubbedLibrary) -> Request<StubbedLibrary, [StubbedBook]> {
        api.get(.json(), from: "/shelves/\(rawValue)").adding(queryItem: ("token", "hunter2"))
            .adding(headerField: .authorization(bearerToken: "hunter2-bearer"))
    }
}

private struct Upload: Endpoint {
    func request(from api: StubbedLibrary) -> Request<StubbedLibrary, Void> {
        api.post(.multipart([.text("1", name: "a")]), to: "/upload")
    }
}

private struct Invalid: Endpoint {
    func request(from api: StubbedLibrary) -> Request<StubbedLibrary, Void> {
        api.post(.json(Double.nan), to: "/x")
    }
}

@Suite("Wire snapshots")
struct WireSnapshotTests {
    private let client = library(MockExecutor())

    @Test("an endpoint's wire text is compared with a text in the source, with secrets redacted")
    func inline() throws {
        try client.assertWire(
            StubbedBooks.add(emma),
            matches: """
                POST /api/books HTTP/1.1
                Host: library.test
                Accept: application/json
                Content-Type: application/json
                Content-Length: 28

                {"title":"Emma","year":1815}
                """)
        try client.assertWire(
            Shelf.poetry,
            matches: """
                GET /api/shelves/poetry?token=<redacted> HTTP/1.1
                Host: library.test
                Authorization: <redacted>
                Accept: application/json
                """)
    }

    @Test("all cases of an endpoint are compared in one call")
    func cases() throws {
        try client.assertWire(
            allCasesOf: Shelf.self,
            matches: """
                ### fiction
                GET /api/shelves/fiction?token=<redacted> HTTP/1.1
                Host: library.test
                Authorization: <redacted>
                Accept: application/json

                ### poetry
                GET /api/shelves/poetry?token=<redacted> HTTP/1.1
                Host: library.test
                Authorization: <redacted>
                Accept: application/json
                """)
    }

    @Test(
        "the error of a difference shows invisible characters",
        arguments: ["\u{FEFF}", "\u{202E}", "\u{200D}", "\u{0}"])
    func invisible(text: String) throws {
        let error = #expect(throws: WireSnapshotError.self) {
            try client.assertWire(StubbedBooks.titled("Emma"), matches: "GET /api/\(text)books/Emma HTTP/1.1")
        }
        let scalar = try #require(text.unicodeScalars.first)
        #expect(error?.description.unicodeScalars.contains(scalar) == false)
        #expect(error?.description.contains("- GET /api/\(scalar.escaped(asASCII: true))books/Emma") == true)
    }

    @Test("the error of a difference shows the lines around it")
    func difference() throws {
        let error = #expect(throws: WireSnapshotError.self) {
            try client.assertWire(
                StubbedBooks.titled("Emma"),
                matches: """
                    GET /api/books/Emmo HTTP/1.1
                    Host: library.test
                    Accept: application/json
                    Accept-Language: en
                    """)
        }
        #expect(error?.problem == .differs)
        #expect(
            error?.description == """
                StubbedBooks: the wire text differs (-: expected, +: received)
                  - GET /api/books/Emmo HTTP/1.1
                  + GET /api/books/Emma HTTP/1.1
                    Host: library.test
                    Accept: application/json
                  - Accept-Language: en
                """)
    }

    @Test("the wire text of a form with a random boundary is the same each time")
    func deterministic() throws {
        let folder = TemporaryDirectory()
        let file = WireSnapshot.File(folder.path(of: "upload"), besides: #filePath, isRecording: true)
        try file.check(WireSnapshot.text(of: Upload(), from: .main))
        try client.assertWire(Upload(), recordedIn: folder.path(of: "upload"))
        let text = try String(contentsOfFile: folder.path(of: "upload"), encoding: .utf8)
        #expect(text.contains("boundary=<redacted>"))
    }

    @Test("a snapshot is recorded when it is missing or different, and then compared")
    func recording() throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "sub/shelf.txt")
        let missing = #expect(throws: WireSnapshotError.self) {
            try client.assertWire(allCasesOf: Shelf.self, recordedIn: path)
        }
        #expect(missing?.problem == .missing)
        #expect(missing?.description.contains("set REQUESTS_RECORD=1") == true)
        let text = try WireSnapshot.text(ofAllCasesOf: Shelf.self, from: .main)
        try WireSnapshot.File(path, besides: #filePath, isRecording: true).check(text)
        try client.assertWire(allCasesOf: Shelf.self, recordedIn: path)
        #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("hunter2"))
    }

    @Test("a snapshot with other line ends or newlines at its end is the same; any other edit is a difference")
    func edited() throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "book.txt")
        let text = try WireSnapshot.text(of: StubbedBooks.titled("Emma"), from: .main)
        try Data(text.replacing("\n", with: "\r\n").utf8).write(to: URL(filePath: path))
        try client.assertWire(StubbedBooks.titled("Emma"), recordedIn: path)
        for edit in ["", "\n\n", text + "x", text.replacing("Emma", with: "Emm\u{61}\u{301}"), " " + text] {
            try Data(edit.utf8).write(to: URL(filePath: path))
            let error = #expect(throws: WireSnapshotError.self) {
                try client.assertWire(StubbedBooks.titled("Emma"), recordedIn: path)
            }
            #expect(error?.problem == .differs)
        }
    }

    @Test("a file that is not text, too large or not a file is a typed error, and recording keeps it")
    func unusable() throws {
        let folder = TemporaryDirectory()
        try Data([0xFF, 0xFE]).write(to: URL(filePath: folder.path(of: "binary")))
        try Data(count: WireSnapshot.maximumBytes + 1).write(to: URL(filePath: folder.path(of: "large")))
        let problems: [(String, WireSnapshotError.Problem)] = [
            ("binary", .notText), ("large", .tooLarge), ("", .inaccessible),
        ]
        for (name, problem) in problems {
            for isRecording in [false, true] {
                let path = folder.path(of: name)
                let error = #expect(throws: WireSnapshotError.self) {
                    try WireSnapshot.File(path, besides: #filePath, isRecording: isRecording).check("x")
                }
                #expect(error?.problem == problem, "\(name)")
            }
        }
        #expect(try Data(contentsOf: URL(filePath: folder.path(of: "binary"))) == Data([0xFF, 0xFE]))
        let invalid = #expect(throws: WireSnapshotError.self) {
            try client.assertWire(Invalid(), matches: "")
        }
        #expect(invalid?.problem == .notPrepared)
    }

    @Test("a file from another running process is not replaced, and a file from an ended process is")
    func twoProcesses() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "processes")
        @Sendable func record(_ text: String) throws {
            try WireSnapshot.File(path, besides: #filePath, isRecording: true).check(text)
        }
        // A process that has ended: its lock ended with it.
        await #expect(processExitsWith: .success) { [path = path as String] in
            try WireSnapshot.File(path, besides: "", isRecording: true).check("ended")
        }
        try record("first")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "first\n")
        await #expect(processExitsWith: .success) { [path = path as String] in
            // The same text is no conflict.
            try WireSnapshot.File(path, besides: "", isRecording: true).check("first")
            let error = #expect(throws: WireSnapshotError.self) {
                try WireSnapshot.File(path, besides: "", isRecording: true).check("second")
            }
            #expect(error?.problem == .recordedTwice)
        }
        await #expect(processExitsWith: .success) { [path = path as String] in
            let error = #expect(throws: WireSnapshotError.self) {
                try WireSnapshot.File(path, besides: "", isRecording: true).check("third")
            }
            #expect(error?.problem == .recordedTwice)
            #expect(error?.description.contains("another process") == true)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "first\n")
        #expect(folder.names == ["processes"])
    }

    @Test("two recorders that create one file at the same moment lose neither text")
    func sameMoment() throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "moment")
        for name in ["a", "b"] { try Data(name.utf8).write(to: URL(filePath: folder.path(of: name))) }
        let files = try ["a", "b"].map { try #require(try OwnedFile.open(folder.path(of: $0))) }
        try files[0].move(to: path, replacing: nil)
        #expect(throws: FileError.locked(path: path)) { try files[1].move(to: path, replacing: nil) }
        #expect(throws: FileError.locked(path: path)) { try OwnedFile.open(path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "a")
    }

    @Test("if two recorders write different texts to one file, one fails and the file has the other's text")
    func twoRecorders() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "shared")
        let failures = await withTaskGroup(of: String?.self) { group in
            for text in ["first", "second"] {
                group.addTask {
                    do throws(WireSnapshotError) {
                        try WireSnapshot.File(path, besides: #filePath, isRecording: true).check(text)
                        return nil
                    } catch {
                        #expect(error.problem == .recordedTwice)
                        return text
                    }
                }
            }
            return await group.reduce(into: [String]()) { if let failure = $1 { $0.append(failure) } }
        }
        let kept = try String(contentsOfFile: path, encoding: .utf8)
        #expect(failures == [kept == "first\n" ? "second" : "first"])
    }

    @Test("the difference of two long texts is limited")
    func longTexts() {
        let left = (0..<5_000).map { "left \($0)" }.joined(separator: "\n")
        let right = (0..<5_000).map { "right \($0)" }.joined(separator: "\n")
        let error = #expect(throws: WireSnapshotError.self) {
            try WireSnapshot.compare(right, with: left, named: "long")
        }
        #expect((error?.description.utf8.count ?? .max) < 10_000)
    }
}
