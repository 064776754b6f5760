import Foundation
import RequestsMock
import Testing

private let shop = AnonymousRequestProvider("https://shop.test")

/// A form that was sent, and a request that an extension blocked.
private let chrome = """
    {"log": {"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"},
    "pages": [{"startedDateTime": "2026-01-02T03:04:05.600Z", "id": "page_1", "title": "https://shop.test/",
    "pageTimings": {"onContentLoad": 312.5, "onLoad": 498.25}}],
    "entries": [
    {"_connectionId": "4127", "_initiator": {"type": "script", "stack": {"callFrames": [{"functionName": "search",
    "scriptId": "8", "url": "https://shop.test/app.js", "lineNumber": 41, "columnNumber": 12}]}},
    "_priority": "High", "_resourceType": "fetch", "cache": {}, "connection": "443", "pageref": "page_1",
    "request": {"method": "POST", "url": "https://shop.test/search", "httpVersion": "http/2.0",
    "headers": [{"name": ":authority", "value": "shop.test"}, {"name": ":method", "value": "POST"},
    {"name": "content-type", "value": "application/x-www-form-urlencoded"}],
    "queryString": [], "cookies": [{"name": "id", "value": "1", "path": "/", "domain": "shop.test",
    "expires": "2027-01-02T03:04:05.678Z", "httpOnly": true, "secure": true, "sameSite": "Lax"}],
    "headersSize": -1, "bodySize": 11, "postData": {"mimeType": "application/x-www-form-urlencoded",
    "text": "q=red+shoes", "params": [{"name": "q", "value": "red+shoes"}]}},
    "response": {"status": 200, "statusText": "", "httpVersion": "http/2.0",
    "headers": [{"name": "content-type", "value": "text/plain"}, {"name": "content-encoding", "value": "br"}],
    "cookies": [], "content": {"size": 5, "mimeType": "text/plain", "text": "found"}, "redirectURL": "",
    "headersSize": -1, "bodySize": -1, "_transferSize": 74, "_error": null, "_fetchedViaServiceWorker": false},
    "serverIPAddress": "192.0.2.1", "startedDateTime": "2026-01-02T03:04:05.678Z", "time": 24.0,
    "timings": {"blocked": 1.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0.5, "wait": 20, "receive": 2,
    "_blocked_queueing": 0.7, "_workerStart": -1}},
    {"_initiator": {"type": "parser", "url": "https://shop.test/", "lineNumber": 9}, "_priority": "Low",
    "_resourceType": "image", "cache": {}, "pageref": "page_1",
    "request": {"method": "GET", "url": "https://ads.test/pixel.gif?id=1", "httpVersion": "", "headers": [],
    "queryString": [{"name": "id", "value": "1"}], "cookies": [], "headersSize": -1, "bodySize": 0},
    "response": {"status": 0, "statusText": "", "httpVersion": "", "headers": [], "cookies": [],
    "content": {"size": 0, "mimeType": "x-unknown"}, "redirectURL": "", "headersSize": -1, "bodySize": -1,
    "_transferSize": 0, "_error": "net::ERR_BLOCKED_BY_CLIENT"},
    "serverIPAddress": "", "startedDateTime": "2026-01-02T03:04:05.710Z", "time": 3.5,
    "timings": {"blocked": 3.5, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": 0, "receive": 0}}]}}
    """

/// Two forms without text, and a request that was blocked.
private let firefox = """
    {"log": {"version": "1.2", "creator": {"name": "Firefox", "version": "140.0"},
    "browser": {"name": "Firefox", "version": "140.0"},
    "pages": [{"id": "page_1", "pageTimings": {"onContentLoad": -12, "onLoad": 103},
    "startedDateTime": "2026-01-02T04:04:05.600+01:00", "title": "https://shop.test/"}],
    "entries": [
    {"startedDateTime": "2026-01-02T04:04:05.678+01:00", "request": {"bodySize": 12, "method": "POST",
    "url": "https://shop.test/search", "httpVersion": "HTTP/2",
    "headers": [{"name": "Content-Type", "value": "application/x-www-form-urlencoded"}],
    "cookies": [{"name": "id", "value": "1"}], "queryString": [], "headersSize": 412,
    "postData": {"mimeType": "application/x-www-form-urlencoded",
    "params": [{"name": "q", "value": "a b"}, {"name": "flag"}], "text": ""}},
    "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/2",
    "headers": [{"name": "content-type", "value": "text/plain"}], "cookies": [],
    "content": {"mimeType": "text/plain", "size": 5, "text": "first"}, "redirectURL": "", "headersSize": 96,
    "bodySize": 101}, "cache": {}, "timings": {"blocked": 0, "dns": 4, "connect": 10, "ssl": 6, "wait": 30},
    "time": 44, "_securityState": "secure", "serverIPAddress": "192.0.2.1", "connection": "443",
    "pageref": "page_1"},
    {"startedDateTime": "2026-01-02T04:04:05.778+01:00", "request": {"bodySize": 14, "method": "POST",
    "url": "https://shop.test/search", "httpVersion": "HTTP/2", "headers": [], "cookies": [], "queryString": [],
    "headersSize": 412, "postData": {"mimeType": "application/x-www-form-urlencoded",
    "params": [{"name": "q", "value": "ü&="}], "text": ""}},
    "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/2",
    "headers": [{"name": "content-type", "value": "text/plain"}], "cookies": [],
    "content": {"mimeType": "text/plain", "size": 6, "text": "second"}, "redirectURL": "", "headersSize": 96,
    "bodySize": 102}, "cache": {}, "timings": {"blocked": 0, "dns": 0, "connect": 0, "ssl": 0, "send": 0,
    "wait": 12, "receive": 0}, "time": 12, "_securityState": "secure", "serverIPAddress": "192.0.2.1",
    "connection": "443", "pageref": "page_1"},
    {"startedDateTime": "2026-01-02T04:04:05.878+01:00", "request": {"bodySize": 0, "method": "GET",
    "url": "https://ads.test/pixel.gif", "httpVersion": "", "headers": [], "cookies": [], "queryString": [],
    "headersSize": -1}, "response": {"status": 0, "statusText": "", "httpVersion": "", "headers": [],
    "cookies": [], "content": {"mimeType": "", "size": 0, "text": ""}, "redirectURL": "", "headersSize": -1,
    "bodySize": -1}, "cache": {}, "timings": {}, "time": 0, "_securityState": "insecure", "pageref": "page_1"}]}}
    """

/// A form with a file, an image whose bytes were not kept, and a response without body.
private let safari = """
    {"log": {"version": "1.2", "creator": {"name": "WebKit Web Inspector", "version": "1.0"},
    "pages": [{"startedDateTime": "2026-01-02T03:04:05.600Z", "id": "page_0", "title": "https://shop.test/",
    "pageTimings": {"onContentLoad": 212.1, "onLoad": 340.9}}],
    "entries": [
    {"pageref": "page_0", "startedDateTime": "2026-01-02T03:04:05.678Z", "time": 32.5,
    "request": {"method": "POST", "url": "https://shop.test/photos", "httpVersion": "HTTP/2", "cookies": [],
    "headers": [{"name": "Content-Type", "value": "multipart/form-data; boundary=x"}], "queryString": [],
    "headersSize": 301, "bodySize": 5012, "postData": {"mimeType": "multipart/form-data; boundary=x",
    "params": [{"name": "title", "value": "Emma"},
    {"name": "photo", "fileName": "emma.png", "contentType": "image/png"}]}},
    "response": {"status": 201, "statusText": "Created", "httpVersion": "HTTP/2", "cookies": [],
    "headers": [{"name": "Content-Type", "value": "text/plain"}],
    "content": {"size": 5, "compression": 0, "mimeType": "text/plain", "text": "saved"}, "redirectURL": "",
    "headersSize": 80, "bodySize": 5, "_transferSize": 85},
    "cache": {}, "timings": {"send": 2.5, "wait": 30}, "serverIPAddress": "192.0.2.1", "connection": "1",
    "_fetchType": "Network Load", "_priority": "high"},
    {"pageref": "page_0", "startedDateTime": "2026-01-02T03:04:05.778Z", "time": 8,
    "request": {"method": "GET", "url": "https://shop.test/photos/1", "httpVersion": "HTTP/2", "cookies": [],
    "headers": [], "queryString": [], "headersSize": 290, "bodySize": 0},
    "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/2", "cookies": [],
    "headers": [{"name": "Content-Type", "value": "image/png"}],
    "content": {"size": 4096, "compression": 0, "mimeType": "image/png"}, "redirectURL": "", "headersSize": 80,
    "bodySize": 4096, "_transferSize": 4176},
    "cache": {}, "serverIPAddress": "192.0.2.1", "connection": "1", "_fetchType": "Network Load"},
    {"pageref": "page_0", "startedDateTime": "2026-01-02T03:04:05.878Z", "time": 3,
    "request": {"method": "GET", "url": "https://shop.test/ping", "httpVersion": "HTTP/2", "cookies": [],
    "headers": [], "queryString": [], "headersSize": 290, "bodySize": 0},
    "response": {"status": 204, "statusText": "No Content", "httpVersion": "HTTP/2", "cookies": [], "headers": [],
    "content": {"size": 0, "compression": 0, "mimeType": "text/plain"}, "redirectURL": "", "headersSize": 60,
    "bodySize": 0, "_transferSize": 60},
    "cache": {}, "timings": {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 1, "wait": 2,
    "receive": -1}, "serverIPAddress": "192.0.2.1", "connection": "1", "_fetchType": "Network Load"}]}}
    """

/// An archive with all members that the schema knows.
private let complete = """
    {"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": [
    {"startedDateTime": "2026-01-02T03:04:05.678Z", "time": 6, "cache": {}, "comment": "c", "connection": "443",
    "serverIPAddress": "192.0.2.1",
    "request": {"method": "POST", "url": "https://a.test/?a=1", "httpVersion": "HTTP/1.1",
    "cookies": [{"name": "id", "value": "1", "path": "/", "domain": "a.test", "expires": "2027-01-02T03:04:05Z",
    "comment": "c"}], "headers": [{"name": "Accept", "value": "*/*", "comment": "c"}],
    "queryString": [{"name": "a", "value": "1", "comment": "c"}], "headersSize": -1, "bodySize": 3,
    "postData": {"mimeType": "text/plain", "params": [{"name": "b", "value": "2", "comment": "c"}],
    "text": "b=2", "comment": "c"}},
    "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1",
    "cookies": [{"name": "id", "value": "2", "path": "/", "domain": "a.test", "expires": "2027-01-02T03:04:05Z",
    "comment": "c"}], "headers": [{"name": "Age", "value": "0", "comment": "c"}], "redirectURL": "",
    "headersSize": -1, "bodySize": 2, "content": {"size": 2, "mimeType": "text/plain", "text": "aGk=",
    "encoding": "base64", "comment": "c"}},
    "timings": {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 1, "wait": 2, "receive": 3}}]}}
    """

/// The members of `complete` that may be missing, by the end of their path.
private let optionalMembers = [
    "comment", "connection", "serverIPAddress", "postData", "path", "domain", "expires", "content.text", "encoding",
    "blocked", "dns", "connect", "ssl",
]

/// A change of a value, and the path of the member that is changed.
private struct Change {
    var path: String
    /// The whole value with the change.
    var value: JSONValue

    /// Returns changes that each remove one member of `value`, which is at `path`.
    static func removals(from value: JSONValue, at path: String = "") -> [Change] {
        nested(in: value, path) { removals(from: $0, at: $1) }
            + (value.object ?? [:]).keys.map { name in
                Change(path: "\(path).\(name)", value: .object((value.object ?? [:]).filter { $0.key != name }))
            }
    }

    /// Returns changes that replace `value`, which is at `path`, or a value below it, by a value of another type.
    static func replacements(of value: JSONValue, at path: String = "") -> [Change] {
        var others: [JSONValue] = [.null, .bool(true)]
        if value.double == nil { others.append(.integer(1)) }
        if value.string == nil { others.append(.string("1")) }
        if value.array == nil { others.append(.array([])) }
        if value.object == nil { others.append(.object([:])) }
        return others.map { Change(path: path, value: $0) } + nested(in: value, path) { replacements(of: $0, at: $1) }
    }

    /// Returns changes of `value` that change one of its members or elements.
    private static func nested(
        in value: JSONValue, _ path: String, _ changes: (JSONValue, String) -> [Change]
    ) -> [Change] {
        switch value {
        case .object(let members):
            members.flatMap { name, member in
                changes(member, "\(path).\(name)").map { change in
                    var changed = members
                    changed[name] = change.value
                    return Change(path: change.path, value: .object(changed))
                }
            }
        case .array(let elements):
            elements.indices.flatMap { index in
                changes(elements[index], "\(path)[\(index)]").map { change in
                    var changed = elements
                    changed[index] = change.value
                    return Change(path: change.path, value: .array(changed))
                }
            }
        default: []
        }
    }

    /// Returns how the changed value violates the schema at the path of the change.
    func violations() throws -> [String] {
        try HARSchema.violations(in: JSONEncoder().encode(value)).filter { $0.hasPrefix("\(path): ") }
    }
}

@Suite("Recordings of browsers", .timeLimit(.minutes(10)))
struct HARReadingTests {
    @Test("entries for URLs with other schemes are left out, and other text is an error")
    func schemes() throws {
        func archive(_ url: String) throws -> HARArchive {
            try HARArchive(parsing: Data(chrome.replacing("https://ads.test/pixel.gif?id=1", with: url).utf8))
        }
        for url in [
            "data:image/gif;base64,R0lGODlh", "blob:https://a.test/1", "chrome-extension://a/b.js", "about:blank",
            "Web+Tea:x", "res2://a",
        ] {
            #expect(try archive(url).entries.map(\.url) == ["https://shop.test/search"], "\(url)")
        }
        for url in ["", "/path", "a.test:80/x", ":x", "http:x", "1a:x", "+a:x"] {
            #expect(try archive(url).skippedEntries.map(\.problem) == [.invalidMember], "\(url)")
        }
    }

    @Test("Chrome: the text of a form is its body, and a blocked request has no response")
    func chromeArchive() async throws {
        let archive = try HARArchive(parsing: Data(chrome.utf8))
        #expect(archive.entries.map(\.status) == [200, nil])
        #expect(archive.entries.map(\.httpVersion) == ["http/2.0", nil])
        #expect(archive.entries[0].requestHeader.map(\.value) == ["application/x-www-form-urlencoded"])
        #expect(archive.entries[0].requestBody?.data == Data("q=red+shoes".utf8))
        #expect(archive.entries[0].timings.total == .milliseconds(24))
        #expect(archive.entries[1].requestBody == nil && archive.entries[1].responseBody.data == Data())
        let replay = MockExecutor(replaying: archive)
        let search = shop.post(.form(["q": "red shoes"]), to: "/search", receiving: .text)
        #expect(try await replay.perform(search) == "found")
        let pixel = AnonymousRequestProvider("https://ads.test").get(.data, from: "/pixel.gif")
            .adding(queryItem: ("id", 1))
        let error = await #expect(throws: RequestError.self) { try await replay.perform(pixel) }
        #expect(error?.reason == .connectionLost)
        try replay.verify()
    }

    @Test("Firefox: the parameters of a form without text are its body, by which the replay finds the response")
    func firefoxArchive() async throws {
        let archive = try HARArchive(parsing: Data(firefox.utf8))
        #expect(archive.entries.map(\.status) == [200, 200, nil])
        let bodies = archive.entries.map { $0.requestBody?.data }
        #expect(bodies == [Data("q=a%20b&flag".utf8), Data("q=%C3%BC%26%3D".utf8), nil])
        #expect(archive.entries[0].requestBody?.size == 12)
        #expect(archive.entries[0].startedAt.timeIntervalSince1970.rounded(.down) == 1_767_323_045)
        #expect(archive.entries[0].timings.tls == .milliseconds(6))
        #expect(archive.entries.map(\.timings.total) == [.milliseconds(44), .milliseconds(12), .zero])
        let replay = MockExecutor(replaying: archive)
        let second = shop.post(.form(["q": "ü&="]), to: "/search", receiving: .text)
        #expect(try await replay.perform(second) == "second")
        let first = shop.post(.form(["q": "a b", "flag": nil]), to: "/search", receiving: .text)
        #expect(try await replay.perform(first) == "first")
    }

    @Test("Safari: a form with a file and a content without text are bodies that were not recorded")
    func safariArchive() async throws {
        let archive = try HARArchive(parsing: Data(safari.utf8))
        #expect(archive.entries.map(\.status) == [201, 200, 204])
        #expect(archive.entries[0].requestBody?.mediaType == "multipart/form-data; boundary=x")
        #expect(archive.entries[0].requestBody?.data == nil)
        #expect(archive.entries.map(\.responseBody.data) == [Data("saved".utf8), nil, Data()])
        #expect(archive.entries.map(\.responseBody.size) == [5, 4096, 0])
        #expect(archive.entries.map(\.timings.total) == [.microseconds(32_500), .zero, .milliseconds(3)])
        let replay = MockExecutor(replaying: archive)
        let photo = shop.post(.multipart([.text("Emma", name: "title")]), to: "/photos", receiving: .text)
        #expect(try await replay.perform(photo) == "saved")
        let image = shop.get(.data, from: "/photos/1")
        let error = await #expect(throws: RequestError.self) { try await replay.perform(image) }
        #expect(error?.reason == .other)
        #expect(try await replay.perform(shop.get(.data, from: "/ping")) == Data())
    }

    @Test(
        "only the parameters of an urlencoded form are a body",
        arguments: [
            (#""mimeType": "", "params": [{"name": "a", "value": "1"}]"#, "a=1"),
            (#""params": [{"name": "a", "value": ""}, {"name": "a", "value": null}]"#, "a=&a"),
            (#""text": null, "params": [{"name": "a", "value": "1", "comment": "c"}]"#, "a=1"),
            (#""text": "b", "params": [{"name": "a", "value": "1"}]"#, "b"),
            (#""text": "b", "params": 1"#, "b"), (#""text": "", "params": []"#, ""), (#""params": []"#, nil),
            (#""mimeType": "text/plain""#, nil),
            (#""params": [{"name": "a", "value": "1", "fileName": "a.txt"}]"#, nil),
            (#""mimeType": "multipart/form-data", "params": [{"name": "a", "value": "1"}]"#, nil),
        ] as [(String, String?)])
    func parameters(members: String, body: String?) throws {
        let entry = try #require(try archive(posting: members).entries.first)
        #expect(try #require(entry.requestBody).data == body.map { Data($0.utf8) })
    }

    @Test(
        "a parameter without name or with a wrong type is an error with its path",
        arguments: [
            ("1", "params", .invalidMember), ("[1]", "params[0]", .invalidMember),
            (#"[{"value": "1"}]"#, "params[0].name", .missingMember),
            (#"[{"name": 1}]"#, "params[0].name", .invalidMember),
            (#"[{"name": "a"}, {"name": "b", "value": 1}]"#, "params[1].value", .invalidMember),
        ] as [(String, String, HARError.Problem)])
    func malformed(params: String, path: String, problem: HARError.Problem) throws {
        let error = try #require(archive(posting: "\"params\": \(params)").skippedEntries.first)
        #expect(error.problem == problem && error.path == "log.entries[0].request.postData.\(path)", "\(error)")
    }

    private func archive(posting members: String) throws -> HARArchive {
        let text = """
            {"log": {"entries": [{"startedDateTime": "2026-01-02T03:04:05.678Z",
            "request": {"method": "POST", "url": "https://a.test/", "postData": {\(members)}},
            "response": {"status": 200}}]}}
            """
        return try HARArchive(parsing: Data(text.utf8))
    }

    @Test("the validator of these tests finds each missing member, and each of a wrong type")
    func validator() throws {
        #expect(try HARSchema.violations(in: Data(complete.utf8)) == [])
        let value = try JSONValue(parsing: Data(complete.utf8))
        let removals = Change.removals(from: value)
        #expect(removals.count > 70)
        for removal in removals {
            let mayBeMissing = optionalMembers.contains { removal.path.hasSuffix(".\($0)") }
            let violations = try removal.violations()
            #expect(violations == (mayBeMissing ? [] : ["\(removal.path): missing"]), "\(removal.path)")
        }
        for replacement in Change.replacements(of: value) {
            #expect(try !replacement.violations().isEmpty, "\(replacement.path): \(replacement.value)")
        }
    }
}
