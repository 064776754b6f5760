import RequestsMock
import Testing

@Suite("Secrets in recordings and reports")
struct RecordedSecretTests {
    /// Bodies with secrets, and the form in which they may be shown.
    private static let bodies: [(body: String, type: MediaType, shown: String)] = [
        (
            #"{"id": 12345678901234567890, "password": "hunter2", "x": 0.10000000000000001}"#, .json,
            #"{"id": 12345678901234567890, "password": "<redacted>", "x": 0.10000000000000001}"#
        ),
        (#"[{"user": {"Token": ["hunter2", 1]}}]"#, .json, #"[{"user": {"Token": "<redacted>"}}]"#),
        (#"{"p\u0061ssword": "hunter2", "token": null}"#, .json, #"{"p\u0061ssword": "<redacted>", "token": null}"#),
        (#"{"token": "a", "token": "hunter2"}"#, .json, #"{"token": "<redacted>", "token": "<redacted>"}"#),
        // Malformed JSON: half a surrogate pair, and a comma too many.
        (#"{"x": "\ud800", "secret": "hunter2",}"#, .json, #"{"x": "\ud800", "secret": "<redacted>",}"#),
        (
            "{\"token\": \"hunter2\"}\n{\"token\": 72}\n", "application/x-ndjson",
            "{\"token\": \"<redacted>\"}\n{\"token\": \"<redacted>\"}\n"
        ),
        ("data: {\"token\": \"hunter2\"}\n\n", "text/event-stream", "data: {\"token\": \"<redacted>\"}\n\n"),
        (
            "mail=a@b.test&password=hunter2&%74oken=hunter2", "application/x-www-form-urlencoded; charset=utf-8",
            "mail=a@b.test&password=<redacted>&%74oken=<redacted>"
        ),
        (
            "--b\r\nContent-Disposition: form-data; name=\"mail\"\r\n\r\na@b.test\r\n--b\r\nX: y\r\n"
                + "content-disposition: form-data; name=Password\r\n\r\nhunter2\r\n\r\nhunter2\r\n--b--\r\n",
            "multipart/form-data; boundary=\"b\"",
            "--b\r\nContent-Disposition: form-data; name=\"mail\"\r\n\r\na@b.test\r\n--b\r\nX: y\r\n"
                + "content-disposition: form-data; name=Password\r\n\r\n<redacted>\r\n--b--\r\n"
        ),
    ]

    @Test("secrets in a body of any format are replaced, and its other bytes are recorded", arguments: bodies)
    func recorded(body: String, type: MediaType, shown: String) async throws {
        let recorder = HARRecorder()
        let mock = MockExecutor(.ok(body, contentType: type)).intercepted(by: recorder)
        let data = Data(body.utf8)
        let request = StubbedLibrary.main.post(.raw(data: data, contentType: type), to: "/x", receiving: .data)
        #expect(try await mock.perform(request) == data)
        let entry = try #require(recorder.archive.entries.first)
        #expect(entry.requestBody?.data.map { String(decoding: $0, as: UTF8.self) } == shown)
        #expect(entry.responseBody.data.map { String(decoding: $0, as: UTF8.self) } == shown)
    }

    @Test("a request body that the file lacks is read as not recorded", arguments: [nil, 10])
    func unrecorded(limit: Int?) async throws {
        var limits = HARRecorder.Limits()
        if let limit { limits.bodyBytes = limit }
        let recorder = HARRecorder(limits: limits)
        let mock = MockExecutor().intercepted(by: recorder)
        let bodies = [Data([0xFF, 0, 1]), Data("more than ten bytes".utf8), Data("ten bytes.".utf8), Data()]
        for body in bodies {
            let request = StubbedLibrary.main.post(.raw(data: body), to: "/x", receiving: .data)
            _ = await requestError { try await mock.perform(request) }
        }
        let read = try HARArchive(parsing: recorder.archive.json).entries.map(\.requestBody)
        #expect(read.map { $0?.size } == [3, 19, 10, 0])
        #expect(read.map { $0?.data } == [nil, limit == nil ? bodies[1] : nil, bodies[2], Data()])
        var archive = recorder.archive
        archive.entries[3].requestBody = HARArchive.Content(mediaType: "multipart/form-data", data: nil)
        #expect(try HARArchive(parsing: archive.json).entries[3].requestBody == archive.entries[3].requestBody)
    }

    @Test("no report shows a secret of a body that is compared with another", arguments: bodies)
    func reported(body: String, type: MediaType, shown: String) async {
        for other in ["", "x", "{}", "[]", #"[{"user": 1}]"#, #"{"user": {"token": "hunter2"}}"#] {
            for (stubbed, sent) in [(body, other), (other, body)] {
                let mock = MockExecutor()
                func request(_ text: String) -> Request<StubbedLibrary, Data> {
                    let body = BodyProvider.raw(data: Data(text.utf8), contentType: type)
                    return StubbedLibrary.main.post(body, to: "/x", receiving: .data)
                }
                mock.on(request(stubbed), respond: .status(200))
                let error = await requestError { try await mock.perform(request(sent)) }
                let verification = #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
                for text in ["\(error.map { "\($0)" } ?? "")", "\(verification.map { "\($0)" } ?? "")"] {
                    #expect(text.contains("body") && !text.contains("hunter2"), "\(text)")
                }
            }
        }
    }
}
