import Foundation
import RequestsMock
import TestSupport
import Testing

/// Returns an executor that responds with the body of `mock`, and its recorder.
private func recorded(_ mock: MockExecutor, _ recorder: HARRecorder) -> any RequestExecutor {
    mock.intercepted(by: recorder)
}

private func recordedEntry(
    _ url: String, _ body: String = "", method: HTTPMethod = .get, at seconds: Double = 0
)
    -> HARArchive.Entry
{
    HARArchive.Entry(
        startedAt: Date(timeIntervalSince1970: 1_700_000_000 + seconds), method: method, url: url, status: 200,
        responseHeader: [.contentType(.plainText)],
        responseBody: HARArchive.Content(mediaType: "text/plain", data: Data(body.utf8)))
}

/// Returns the body of the response to a GET, or to a POST with `body`.
private func get(_ url: String, _ executor: any RequestExecutor, body: String? = nil) async throws -> String {
    var request = PreparedRequest(method: body == nil ? .get : .post, target: try TargetURI(url))
    if let body { request.body = .bytes(Data(body.utf8)) }
    guard case .bytes(let data) = try await executor.execute(request).body else { return "" }
    return String(decoding: data, as: UTF8.self)
}

private let minimal = """
    {"log": {"entries": [{"startedDateTime": "2026-01-02T03:04:05.678Z",
    "request": {"method": "GET", "url": "https://a.test/x?y=1", "headers": [{"name": ":path", "value": "/x"},
    {"name": "Accept", "value": "*/*"}]},
    "response": {"status": 200, "headers": [{"name": "Set-Cookie", "value": "a=1\\nb=2"},
    {"name": "Content-Encoding", "value": "gzip"}, {"name": "Content-Length", "value": "3"}],
    "content": {"size": 2, "mimeType": "text/plain", "text": "aGk=", "encoding": "base64"}},
    "timings": {"dns": -1, "connect": 4.5, "ssl": 1.5, "send": 0.5, "wait": 10, "receive": 2, "_queued": 1}}]}}
    """

@Suite("Recordings (HAR)", .serialized, .timeLimit(.minutes(10)))
struct HARTests {
    @Test("exchanges are recorded in the format HAR 1.2, without secrets")
    func recording() async throws {
        let recorder = HARRecorder()
        let mock = MockExecutor { request in
            if request.method == .get { return .data(Data([0xFF, 0, 1]), contentType: .png) }
            return .data(
                Data(#"{"access_token":"fresh-secret","list":[{"password":"p"}],"echo":"api-secret"}"#.utf8),
                contentType: .json
            ).adding(headerField: Field(name: .setCookie, value: "id=cookie-secret"))
        }
        let executor = recorded(mock, recorder)
        var request = PreparedRequest(
            method: .post, target: try TargetURI("https://user:userinfo-secret@a.test/x?token=query-secret&q=1"),
            header: [.authorization(bearerToken: "api-secret"), .contentType("application/x-www-form-urlencoded")])
        request.body = .bytes(Data("password=form-secret&a=1".utf8))
        _ = try await executor.execute(request)
        request = PreparedRequest(method: .get, target: try TargetURI("https://a.test/image"), delivery: .streamed)
        let response = try await executor.execute(request)
        guard case .stream(let stream) = response.body else {
            Issue.record("the response is not streamed")
            return
        }
        #expect(recorder.recordedCount == 1)
        #expect(try await stream.collect() == Data([0xFF, 0, 1]))
        let archive = recorder.archive
        #expect(recorder.recordedCount == 2)
        let json = String(decoding: archive.json, as: UTF8.self)
        #expect(try HARSchema.violations(in: archive.json) == [])
        #expect(!json.contains("-secret"))
        #expect(archive.entries[0].url == "https://a.test/x?token=%3Credacted%3E&q=1")
        #expect(archive.entries[0].requestBody?.data == Data("password=<redacted>&a=1".utf8))
        #expect(archive.entries[1].responseBody.data == Data([0xFF, 0, 1]))
        #expect(archive.entries[1].timings.total > .zero)
        // Dates have milliseconds and durations microseconds, so they are not compared.
        let read = try HARArchive(parsing: archive.json)
        #expect(read.entries.map(\.url) == archive.entries.map(\.url))
        #expect(read.entries.map(\.responseBody) == archive.entries.map(\.responseBody))
    }

    @Test("failures, long bodies and bodies that are not read are recorded as such")
    func incomplete() async throws {
        var limits = HARRecorder.Limits()
        limits.bodyBytes = 3
        let recorder = HARRecorder(limits: limits)
        let mock = MockExecutor { request in
            if request.target.path == "/lost" { throw RequestError(.connectionLost) }
            return .ok("long")
        }
        let executor = recorded(mock, recorder)
        await #expect(throws: RequestError.self) { try await get("http://a.test/lost", executor) }
        _ = try await get("http://a.test/long", executor)
        _ = try await executor.execute(
            PreparedRequest(method: .get, target: TargetURI("http://a.test/unread"), delivery: .streamed))
        let archive = recorder.archive
        #expect(archive.entries.map(\.status) == [nil, 200, 200])
        #expect(archive.entries[1].responseBody.data == nil && archive.entries[1].responseBody.size == 4)
        #expect(archive.entries[2].comment == "the body was not read to its end")
        #expect(try HARSchema.violations(in: archive.json) == [])
        let replay = MockExecutor(replaying: archive)
        let lost = await #expect(throws: RequestError.self) { try await get("http://a.test/lost", replay) }
        #expect(lost?.reason == .connectionLost)
        let long = await #expect(throws: RequestError.self) { try await get("http://a.test/long", replay) }
        #expect(long?.reason == .other)
    }

    @Test("a recording has the timings that the executor measured")
    func timings() {
        var metrics = RawResponse.Metrics()
        metrics.timeToLookup = .milliseconds(2)
        metrics.timeToConnect = .milliseconds(5)
        metrics.timeToTLS = .milliseconds(9)
        metrics.timeToRequestSent = .milliseconds(10)
        metrics.timeToFirstByte = .milliseconds(30)
        metrics.timeToEnd = .milliseconds(31)
        let timings = HARArchive.Timings(metrics, headAt: .milliseconds(30), endAt: .milliseconds(40))
        #expect(timings.lookup == .milliseconds(2) && timings.connect == .milliseconds(7))
        #expect(timings.tls == .milliseconds(4) && timings.send == .milliseconds(1))
        #expect(timings.wait == .milliseconds(20) && timings.receive == .milliseconds(1))
        #expect(timings.total == .milliseconds(31))
    }

    @Test("recordings of browsers are imported, and replayed decoded")
    func browsers() async throws {
        let archive = try HARArchive(parsing: Data([0xEF, 0xBB, 0xBF]) + Data(minimal.utf8))
        let entry = try #require(archive.entries.first)
        #expect(entry.requestHeader == [.accept("*/*")])
        #expect(entry.responseHeader.values(of: .setCookie) == ["a=1", "b=2"])
        #expect(entry.responseBody.data == Data("hi".utf8))
        #expect(entry.timings.lookup == nil && entry.timings.total == .milliseconds(17))
        #expect(try await get("https://a.test/x?y=1", MockExecutor(replaying: archive)) == "hi")
    }

    @Test(
        "a missing or wrong member is an error with its path",
        arguments: [
            ("{", "", .notJSON), ("[]", "", .invalidMember), ("{}", "log", .missingMember),
            (#"{"log": {}}"#, "log.entries", .missingMember),
            (#"{"log": {"entries": 1}}"#, "log.entries", .invalidMember),
            (minimal.replacing(#""method": "GET", "#, with: ""), "log.entries[0].request.method", .missingMember),
            (minimal.replacing("GET", with: "G T"), "log.entries[0].request.method", .invalidMember),
            (minimal.replacing("https://a.test/x?y=1", with: "x"), "log.entries[0].request.url", .invalidMember),
            (
                minimal.replacing("https://a.test/x", with: "localhost:80/x"), "log.entries[0].request.url",
                .invalidMember
            ),
            (minimal.replacing("2026-01", with: "2026-13"), "log.entries[0].startedDateTime", .invalidMember),
            (
                minimal.replacing(#""status": 200"#, with: #""status": 99"#), "log.entries[0].response.status",
                .invalidMember
            ),
            (minimal.replacing("Accept", with: "A b"), "log.entries[0].request.headers[1].name", .invalidMember),
            (minimal.replacing("*/*", with: "\\u0000"), "log.entries[0].request.headers[1].value", .invalidMember),
            (minimal.replacing("aGk=", with: "?"), "log.entries[0].response.content.text", .invalidMember),
            (minimal.replacing("base64", with: "rot13"), "log.entries[0].response.content.encoding", .invalidMember),
            (minimal.replacing("4.5", with: "1e300"), "log.entries[0].timings.connect", .invalidMember),
            (minimal.replacing("4.5", with: "\"4\""), "log.entries[0].timings.connect", .invalidMember),
            (
                minimal.replacing(#""size": 2"#, with: #""size": "2""#), "log.entries[0].response.content.size",
                .invalidMember
            ),
        ] as [(String, String, HARError.Problem)])
    func malformed(text: String, path: String, problem: HARError.Problem) throws {
        let error = try #require(firstError(in: text))
        #expect(error.problem == problem && error.path == path, "\(error)")
    }

    /// Returns the error of an archive, or the error of its only entry.
    private func firstError(in text: String) -> HARError? {
        do throws(HARError) {
            let archive = try HARArchive(parsing: Data(text.utf8))
            #expect(archive.entries.isEmpty && archive.skippedEntries.count <= 1)
            return archive.skippedEntries.first
        } catch {
            return error
        }
    }

    @Test("an entry that cannot be replayed is left out with its reason, and the others are read")
    func skipped() throws {
        func entry(_ method: String, _ url: String, _ response: String) -> String {
            """
            {"startedDateTime": "2026-01-02T03:04:05.678Z", "request": {"method": "\(method)", "url": "\(url)"}\(response)}
            """
        }
        let texts = [
            entry("GET", "http://a.test/1", #", "response": {"status": 200}"#), entry("GET", "http://a.test/2", ""),
            entry("GET", "http://a.test/3", #", "response": {"status": -999}"#),
            entry("GET", "http://a.test/4", #", "response": null"#),
            entry("CONNECT", "a.test:443", #", "response": {"status": 200}"#),
            entry("GET", "http://a.test/5", #", "response": {"status": 0}"#), "1", "{}",
            entry("GET", "data:,x", #", "response": {"status": 200}"#),
            entry("GET", "http://a.test/6", #", "response": {"status": 1000}"#),
            entry("GET", "http://a.test/7", #", "response": {"status": 204}"#),
        ]
        let text = "{\"log\": {\"entries\": [\(texts.joined(separator: ","))]}}"
        let archive = try HARArchive(parsing: Data(text.utf8))
        #expect(archive.entries.map(\.url) == [1, 2, 3, 4, 5, 7].map { "http://a.test/\($0)" })
        #expect(archive.entries.map(\.status) == [200, nil, nil, nil, nil, 204])
        let skipped = archive.skippedEntries
        #expect(skipped.map(\.problem) == [.unsupported, .invalidMember, .missingMember, .unsupported, .invalidMember])
        #expect(skipped.map { $0.path.prefix(14) } == [4, 6, 7, 8, 9].map { "log.entries[\($0)]" })
    }

    @Test("of two recorders with one file, neither loses its recording")
    func oneFile() throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "a.har")
        try HARArchive(entries: [recordedEntry("http://a.test/1")]).write(to: path)
        let error = try #require(throws: HARError.self) { try HARArchive().write(to: path) }
        #expect(error.problem == .fileExists)
        #expect(try HARArchive(contentsOf: path).entries.count == 1)
        let missing = try #require(throws: HARError.self) { try HARArchive(contentsOf: path + "x") }
        #expect(missing.problem == .inaccessible)
        let folderless = try #require(throws: HARError.self) { try HARArchive().write(to: path + "/b.har") }
        #expect(folderless.problem == .inaccessible)
    }

    @Test(
        "a recording appears whole or not at all, only its owner can read it, and no other file remains", .rows("R-74"))
    func wholeFiles() async throws {
        let folder = TemporaryDirectory()
        let path = folder.path(of: "a.har")
        try HARArchive(entries: [recordedEntry("http://a.test/1")]).write(to: path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600 && folder.names == ["a.har"])
        await #expect(processExitsWith: .success) { [path = folder.path(of: "b.har") as String] in
            guard FileSizeLimit.set(20_000) else { throw CancellationError() }
            let long = HARArchive(entries: [recordedEntry("http://a.test/", String(repeating: "x", count: 100_000))])
            let error = #expect(throws: HARError.self) { try long.write(to: path) }
            guard error?.problem == .inaccessible else { throw CancellationError() }
        }
        #expect(folder.names == ["a.har"])
    }

    @Test("a recording that is a pipe or a device, or whose path is invalid, is an error without waiting")
    func otherFiles() throws {
        let folder = TemporaryDirectory()
        let pipe = folder.path(of: "pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "/dev/zero", folder.path, "", "a\0b"] {
            #expect(throws: HARError.self) { try HARArchive(contentsOf: path) }
            #expect(throws: HARError.self) { try HARArchive().write(to: path) }
            let snapshot = WireSnapshot.File(path, besides: #filePath, isRecording: false)
            #expect(throws: WireSnapshotError.self) { try snapshot.check("a") }
        }
        #expect(folder.names == ["pipe"])
    }

    @Test("a strict replay accepts requests in any order, with the items of the query in any order")
    func strict() async throws {
        let archive = HARArchive(entries: [
            recordedEntry("http://a.test/x?a=1&b=2", "first"), recordedEntry("http://a.test/x?b=2&a=1", "second"),
            recordedEntry("http://a.test/:id?token=%3Credacted%3E", "colon"),
        ])
        let replay = MockExecutor(replaying: archive)
        #expect(try await get("http://a.test/:id?token=real", replay) == "colon")
        #expect(try await get("http://a.test/x?b=2&a=1", replay) == "first")
        #expect(throws: MockExecutor.VerificationError.self) { try replay.verify() }
        #expect(try await get("http://a.test/x?a=1&b=2", replay) == "second")
        try replay.verify()
        for url in [
            "http://a.test/x?a=1&b=2&c=3", "http://a.test/x?a=1", "http://a.test/1?token=a", "https://a.test/x?a=1&b=2",
        ] {
            let error = await #expect(throws: RequestError.self) { try await get(url, replay) }
            let report = "\(error?.underlying ?? RequestError(.other))"
            #expect(report.contains("nearest stubs"))
        }
        // One more request than was recorded.
        await #expect(throws: RequestError.self) { try await get("http://a.test/x?a=1&b=2", replay) }
        #expect(throws: MockExecutor.VerificationError.self) { try replay.verify() }
    }

    @Test("a recording is replayed for other secrets, wherever the recorded ones were in the URL")
    func hiddenSecrets() async throws {
        let recorder = HARRecorder(redaction: Redaction(also: ["pin"]))
        let mock = MockExecutor { request in .ok(request.target.path.hasSuffix("first") ? "first" : "second") }
        let executor = recorded(mock, recorder)
        for name in ["first", "second"] {
            var request = PreparedRequest(
                method: .get,
                target: try TargetURI("https://a.test/bot-api-secret/\(name)?pin=planted&copy=api-secret"))
            request.header[.authorization] = "Bearer api-secret"
            _ = try await executor.execute(request)
        }
        let text = String(decoding: recorder.archive.json, as: UTF8.self)
        #expect(!text.contains("api-secret") && !text.contains("planted"))
        let replay = MockExecutor(replaying: recorder.archive)
        #expect(try await get("https://a.test/bot-other/second?copy=other&pin=new", replay) == "second")
        #expect(try await get("https://a.test/bot-other/first?pin=new&copy=other", replay) == "first")
        try replay.verify()
        for url in ["https://a.test/bot-other/first?pin=new", "https://a.test/bot-other/x/first?pin=new&copy=other"] {
            let error = await #expect(throws: RequestError.self) { try await get(url, replay) }
            let report = "\(error?.underlying ?? RequestError(.other))"
            #expect(!report.contains("item “pin”"))
        }
    }

    @Test("an entry without redacted parts wins over one with them")
    func hiddenAndShown() async throws {
        let archive = HARArchive(entries: [
            recordedEntry("https://a.test/users/me", "me"),
            recordedEntry("https://a.test/users/%3Credacted%3E", "other"),
        ])
        let replay = MockExecutor(replaying: archive)
        #expect(try await get("https://a.test/users/me", replay) == "me")
        #expect(try await get("https://a.test/users/x", replay) == "other")
        try replay.verify()
    }

    @Test(
        "of the entries whose URLs are the same without secrets, the first remaining one responds",
        arguments: [.strict, .ordered] as [MockExecutor.ReplayOrder])
    func hiddenAlike(order: MockExecutor.ReplayOrder) async throws {
        let archive = HARArchive(entries: [
            recordedEntry("https://a.test/a%3Credacted%3E/x", "1"),
            recordedEntry("https://a.test/b%3Credacted%3E/x/", "2"),
            recordedEntry("https://a.test/y/%3Credacted%3E", "3"), recordedEntry("https://A.test:443/y/z", "4"),
            recordedEntry("https://a.test/%3Credacted%3E//x", "5"), recordedEntry("https://a.test/y%2Fz", "6"),
            recordedEntry("https://a.test/x?q=%3Credacted%3E", "7"),
            recordedEntry("https://a.test/x?q=k%3Credacted%3E", "8"),
            recordedEntry("https://a.test/%79/z/", "9"),
        ])
        let replay = MockExecutor(replaying: archive, order: order)
        var bodies: [String] = []
        for path in ["A/x", "y/x", "y/x", "y/z", "y/x", "y%2fz", "x?q=a", "x?q=b", "y/z"] {
            bodies.append(try await get("https://a.test/\(path)", replay))
        }
        #expect(bodies == (1...9).map(String.init))
        try replay.verify()
        // One more request than was recorded is an error, even if a URL without secrets would match.
        await #expect(throws: RequestError.self) { try await get("https://a.test/y/x", replay) }
    }

    @Test("concurrent requests that match several URLs without secrets use each entry once")
    func hiddenConcurrent() async throws {
        let urls = ["https://a.test/%3Credacted%3E/x", "https://a.test/y/%3Credacted%3E"]
        let entries = (0..<200).map { recordedEntry(urls[$0 % 2], "\($0)") }
        let replay = MockExecutor(replaying: HARArchive(entries: entries))
        let bodies = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in entries { group.addTask { try await get("https://a.test/y/x", replay) } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(bodies == Set((0..<200).map(String.init)))
        try replay.verify()
    }

    @Test("of entries for one URL, the first with an equal body responds, and without one the first")
    func bodies() async throws {
        let queries = [#"{"query":"a","v":1}"#, #"{"query":"b"}"#, #"{"query":"a","v":1}"#, "text"]
        let entries = queries.enumerated().map { index, query in
            var entry = recordedEntry("http://a.test/graphql", "\(index)", method: .post)
            entry.requestBody = HARArchive.Content(mediaType: "application/json", data: Data(query.utf8))
            return entry
        }
        let replay = MockExecutor(replaying: HARArchive(entries: entries))
        var responses: [String] = []
        for body in [#"{"query":"b"}"#, #"{ "v": 1, "query": "a" }"#, #"{"query":"c"}"#, "text"] {
            responses.append(try await get("http://a.test/graphql", replay, body: body))
        }
        #expect(responses == ["1", "0", "2", "3"])
        try replay.verify()
    }

    @Test("an ordered replay accepts only the recorded order")
    func ordered() async throws {
        let archive = HARArchive(entries: [
            recordedEntry("http://a.test/1", "one"), recordedEntry("http://a.test/2", "two"),
            recordedEntry("http://a.test/1", "three"),
        ])
        let replay = MockExecutor(replaying: archive, order: .ordered)
        #expect(try await get("http://a.test/1", replay) == "one")
        #expect(try await get("http://a.test/2", replay) == "two")
        #expect(try await get("http://a.test/1", replay) == "three")
        try replay.verify()
        let other = MockExecutor(replaying: archive, order: .ordered)
        let error = await #expect(throws: RequestError.self) { try await get("http://a.test/2", other) }
        #expect(error?.detail == "the replay expected GET http://a.test/1, and received GET http://a.test/2")
        #expect(error?.mayHaveReachedServer == false)
    }
}
