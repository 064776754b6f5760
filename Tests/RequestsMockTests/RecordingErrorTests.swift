import RequestsMock
import TestSupport
import Testing

/// Returns an archive of one entry with these members; the defaults are valid.
private func archive(
    date: String = #""2026-01-02T03:04:05Z""#, method: String = #""GET""#, url: String = #""https://a.test/""#,
    headers: String = "[]", status: String = "200", content: String = "{}", wait: String = "1"
) -> String {
    """
    {"log": {"entries": [{"startedDateTime": \(date), "timings": {"wait": \(wait)},
    "request": {"method": \(method), "url": \(url), "headers": \(headers)},
    "response": {"status": \(status), "content": \(content)}}]}}
    """
}

private let entry = "log.entries[0]"

@Suite("Errors of recordings")
struct RecordingErrorTests {
    @Test(
        "an invalid archive is an error with the path of the member and the problem",
        arguments: [
            ("[]", "is not an object"), ("{}", "log: is missing"), (#"{"log": 1}"#, "log: is not an object"),
            (#"{"log": {}}"#, "log.entries: is missing"),
            (#"{"log": {"entries": {}}}"#, "log.entries: is not an array"),
            (archive(date: #""yesterday""#), "\(entry).startedDateTime: is not an ISO 8601 date"),
            (archive(method: #""G E T""#), "\(entry).request.method: is not an HTTP method"),
            (archive(url: "1"), "\(entry).request.url: is not a string"),
            (archive(url: #""/path""#), "\(entry).request.url: is not an absolute URL"),
            (archive(url: "null"), "\(entry).request.url: is missing"),
            (
                archive(headers: #"[{"name": "a b", "value": ""}]"#),
                "\(entry).request.headers[0].name: is not a field name"
            ),
            (
                archive(headers: #"[{"name": "a", "value": "\u0000"}]"#),
                "\(entry).request.headers[0].value: contains control characters"
            ),
            (archive(status: #""200""#), "\(entry).response.status: is not an integer"),
            (archive(status: "99"), "\(entry).response.status: is not a status"),
            (
                archive(content: #"{"text": "%", "encoding": "base64"}"#),
                "\(entry).response.content.text: is not base64"
            ),
            (
                archive(content: #"{"text": "a", "encoding": "gzip"}"#),
                "\(entry).response.content.encoding: is not base64, the only encoding"
            ),
            (archive(wait: "1e300"), "\(entry).timings.wait: is not a duration in milliseconds"),
        ])
    func archives(text: String, message: String) throws {
        let result = Result { () throws(HARError) in try HARArchive(parsing: Data(text.utf8)).skippedEntries.first }
        let error: HARError? =
            switch result {
            case .success(let skipped): skipped
            case .failure(let error): error
            }
        #expect(try "\(#require(error))" == message)
    }

    @Test("an archive that is not JSON, or that would replace a file, is an error that says so")
    func files() throws {
        let notJSON = try #require(throws: HARError.self) { try HARArchive(parsing: Data("{".utf8)) }
        #expect("\(notJSON)".hasPrefix("the archive is not JSON: "))
        let folder = TemporaryDirectory()
        let path = folder.path(of: "a.har")
        try HARArchive().write(to: path)
        let exists = try #require(throws: HARError.self) { try HARArchive().write(to: path) }
        #expect("\(exists)" == "“\(path)” exists; remove it, or write to another file")
        let missing = try #require(throws: HARError.self) { try HARArchive(contentsOf: path + "x") }
        #expect("\(missing)".hasPrefix("“\(path)x” cannot be read: "))
        let unwritable = try #require(throws: HARError.self) { try HARArchive().write(to: path + "/b") }
        #expect("\(unwritable)".hasPrefix("“\(path)/b” cannot be written: "))
    }

    @Test("the errors of a snapshot name the file, the problem and what to do")
    func snapshots() throws {
        let folder = TemporaryDirectory()
        func message(_ name: String, _ text: String = "b", isRecording: Bool = false) throws -> String {
            let file = WireSnapshot.File(folder.path(of: name), besides: #filePath, isRecording: isRecording)
            return try #require(throws: WireSnapshotError.self) { try file.check(text) }.description
        }
        #expect(
            try message("new") == "new: the snapshot does not exist; set REQUESTS_RECORD=1 to record:\nb\n")
        try Data("a\n".utf8).write(to: URL(filePath: folder.path(of: "old")))
        #expect(
            try message("old") == """
                old: the wire text differs (-: expected, +: received)
                  - a
                  + b
                  set REQUESTS_RECORD=1 to record it
                """)
        try WireSnapshot.File(folder.path(of: "twice"), besides: #filePath, isRecording: true).check("a")
        #expect(
            try message("twice", isRecording: true)
                == "twice: another check has recorded a different text; use two files")
        try Data([0xFF]).write(to: URL(filePath: folder.path(of: "binary")))
        #expect(try message("binary") == "binary: the file is not UTF-8 text; remove it to record it again")
        try Data(count: WireSnapshot.maximumBytes + 1).write(to: URL(filePath: folder.path(of: "large")))
        #expect(try message("large") == "large: the file has more than 16777216 bytes")
    }
}
