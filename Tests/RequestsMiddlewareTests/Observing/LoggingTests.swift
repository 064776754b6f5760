@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsSocket
import RequestsTestServer
import TestSupport
import Testing

@Suite("Request logging", .serialized, .timeLimit(.minutes(10)))
struct LoggingTests {
    private let api = AnonymousRequestProvider("http://e.com")
    private typealias Entries = Collected<RequestLogging.Entry>

    private let served = MockExecutor(
        MockResponse(
            header: [
                .contentType(.json), Field(name: .setCookie, value: "sid=planted-cookie"),
                Field(name: .lastModified, value: "Sun, 06 Nov 1994 08:49:37 GMT"), Field(name: "X-Other", value: "1"),
            ], body: [.bytes(Data("{\"a\": \"b\"}".utf8))]))

    /// Returns the lines that `logging` writes for one request; durations are replaced by `T`.
    private func lines(
        _ make: (@escaping @Sendable (RequestLogging.Entry) -> Void) -> RequestLogging,
        of request: Request<AnonymousRequestProvider, Data>? = nil, over executor: MockExecutor? = nil
    ) async throws -> [String] {
        let entries = Entries()
        let logged = (executor ?? served).observing(.calls, by: make { entries.add($0) }, clock: ManualClock().clock())
        let request =
            request ?? api.post(.json(["c": "d"]), to: "/x", receiving: .data).validating(.none)
        _ = await failure { () async throws(RequestError) in try await logged.perform(request) }
        return entries.elements.flatMap(\.lines)
    }

    @Test(
        "a request is logged as nothing, its URL, its header or everything", .rows("HT-29"),
        arguments: [
            (.nothing, []), (.url, ["POST http://e.com/x"]),
            (.headers, ["POST http://e.com/x", "Content-Type: application/json", "Accept: */*"]),
            (
                .everything,
                ["POST http://e.com/x", "Content-Type: application/json", "Accept: */*", "{\"c\":\"d\"}"]
            ),
        ] as [(RequestLogging.RequestDetail, [String])])
    func requests(detail: RequestLogging.RequestDetail, expected: [String]) async throws {
        let lines = try await lines { RequestLogging(requests: detail, responses: .nothing, sink: $0) }
        #expect(Set(lines).subtracting(["Accept: */*"]) == Set(expected).subtracting(["Accept: */*"]))
        #expect(lines.first == expected.first)
    }

    @Test("a level that is off has no entries, and entries for the head and the end have the status", .rows("HT-30"))
    func levels() async throws {
        for (lowest, expected) in [(RequestLogging.Level.info, 4), (.warning, 1), (.error, 0)] {
            let script = ResponseScript(.json("[1]"), .status(404))
            let entries = Entries()
            var logging = RequestLogging { entries.add($0) }
            logging.isEnabled = { level in level == lowest || lowest == .info }
            let executor = script.executor.observing(.calls, by: logging)
            for _ in 1...2 {
                _ = await failure { () async throws(RequestError) in
                    try await executor.perform(api.get(.text, from: "/x"))
                }
            }
            #expect(entries.elements.count == expected)
        }
        let entries = Entries()
        let streaming = MockExecutor(.chunks([Data("a".utf8)]))
            .observing(.calls, by: RequestLogging { entries.add($0) })
        for try await _ in try await streaming.perform(api.get(.chunks, from: "/x")) {}
        #expect(entries.elements.map(\.status) == [nil, 200, 200])
    }

    @Test(
        "a response is logged as nothing, its status, three of its fields or everything", .rows("HT-30"),
        arguments: [
            (.nothing, []), (.status, ["200 OK to POST http://e.com/x, 0.0 ms, 9 bytes sent, 10 bytes received"]),
            (
                .headers,
                [
                    "200 OK to POST http://e.com/x, 0.0 ms, 9 bytes sent, 10 bytes received",
                    "Content-Type: application/json", "Set-Cookie: <redacted>",
                    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
                ]
            ),
            (
                .everything,
                [
                    "200 OK to POST http://e.com/x, 0.0 ms, 9 bytes sent, 10 bytes received",
                    "Content-Type: application/json", "Set-Cookie: <redacted>",
                    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "{\"a\": \"b\"}",
                ]
            ),
        ] as [(RequestLogging.ResponseDetail, [String])])
    func responses(detail: RequestLogging.ResponseDetail, expected: [String]) async throws {
        #expect(try await lines { RequestLogging(requests: .nothing, responses: detail, sink: $0) } == expected)
    }

    @Test(
        "the URL and the status are the defaults, and the filter of fields can be turned off", .rows("HT-29", "HT-30"))
    func defaults() async throws {
        let lines = try await lines { RequestLogging(sink: $0) }
        #expect(lines.count == 2 && lines[0] == "POST http://e.com/x" && lines[1].hasPrefix("200 OK to POST http"))
        let all = try await self.lines { sink in
            var logging = RequestLogging(requests: .nothing, responses: .headers, sink: sink)
            logging.responseFields = nil
            return logging
        }
        #expect(all.contains("X-Other: 1"))
    }

    @Test("a trace has the messages line by line, and notes about the connection and the attempt")
    func trace() async throws {
        try await withTestServer(serving: MockExecutor(.ok("line 1\r\nline 2\n"))) { server in
            let entries = Entries()
            let executor = SocketExecutor().observing(
                .attempts, by: RequestLogging.trace(bodies: true) { entries.add($0) })
            _ = try await executor.perform(
                AnonymousRequestProvider(baseURL: server.baseURL).post(
                    .raw(data: Data("sent".utf8), contentType: "text/plain"), to: "/x", receiving: .text
                ).adding(queryItem: ("token", "planted")))
            let lines = entries.elements.flatMap(\.lines)
            for line in [
                "> POST /x?token=<redacted> HTTP", "> Content-Type: text/plain", ">", "} sent", "< HTTP/1.1 200 OK",
                "<", "{ line 1", "{ line 2",
            ] {
                #expect(lines.contains(line), "\(line) in \(lines)")
            }
            #expect(lines.contains { $0.hasPrefix("* ") && $0.contains("connecting ") && $0.contains("waiting ") })
            #expect(lines.last?.hasPrefix("* ended, ") == true)
            #expect(lines.allSatisfy { line in "*><}{".contains { line.first == $0 } }, "\(lines)")
            #expect(entries.elements.last?.description.hasPrefix("[") == true)
        }
    }

    @Test("a trace names the version of HTTP of a response", .rows("H-54"), arguments: [false, true])
    func versions(isStreamed: Bool) async throws {
        try await withTestServer(serving: MockExecutor(.ok("a")), using: .http2) { server in
            var configuration = SocketExecutor.Configuration()
            configuration.httpVersion = .http2PriorKnowledge
            let entries = Entries()
            let executor = SocketExecutor(configuration: configuration).observing(
                .attempts, by: RequestLogging.trace { entries.add($0) })
            var request = try PreparedRequest(method: .get, url: server.baseURL)
            if isStreamed { request.delivery = .streamed }
            let response = try await executor.execute(request)
            if case .stream(let stream) = response.body { _ = try await stream.collect() }
            let lines = entries.elements.flatMap(\.lines)
            #expect(lines.contains("> GET / HTTP") && lines.contains("< HTTP/2 200 OK"), "\(lines)")
            #expect(!lines.contains { $0.contains("HTTP/1") })
        }
    }

    @Test("a streamed response is logged when its head arrives and when it ends")
    func streamed() async throws {
        let entries = Entries()
        let executor = MockExecutor(.chunks([Data("a".utf8), Data("b".utf8)]))
            .observing(.calls, by: RequestLogging(responses: .everything) { entries.add($0) })
        let response = try await executor.execute(streamedRequest(api))
        #expect(entries.elements.count == 2 && entries.elements[1].lines[0].hasSuffix("x, streamed"))
        guard case .stream(let stream) = response.body else { throw RequestError(.other) }
        _ = try await stream.collect()
        #expect(entries.elements.count == 3 && entries.elements[2].lines[0].hasPrefix("end of GET http://e.com/x, "))
        #expect(entries.elements[2].lines.last == "ab" && Set(entries.elements.map(\.number)) == [1])
    }

    @Test("an error is logged with its level and its cause, and a failed request once", .rows("HT-30"))
    func errors() async throws {
        let entries = Entries()
        let lost = MockExecutor { _ in throw RequestError(.connectionLost, detail: "two\nlines") }
            .observing(.calls, by: RequestLogging { entries.add($0) })
        _ = await failure { () async throws(RequestError) in try await lost.perform(api.get(.text, from: "/x")) }
        let warned = MockExecutor(.status(404)).observing(.calls, by: RequestLogging { entries.add($0) })
        _ = await failure { () async throws(RequestError) in try await warned.perform(api.get(.text, from: "/x")) }
        #expect(entries.elements.map(\.level) == [.info, .error, .info, .warning])
        #expect(entries.elements[1].lines[0].hasPrefix("failed: GET http://e.com/x: connection lost"))
        #expect(entries.elements.flatMap(\.lines).allSatisfy { !$0.contains("\n") })
    }

    @Test("no entry contains a secret of the request or the response", .rows("R-74"), arguments: [true, false])
    func secrets(isTrace: Bool) async throws {
        let echo = MockExecutor { request in
            let text = request.header.map { "\($0.name.rawValue) \($0.value)" }.joined(separator: "\n")
            return MockResponse(
                header: [
                    .contentType(.json), Field(name: .setCookie, value: "sid=planted-cookie; Path=/"),
                    Field(name: .location, value: "/next?access_token=planted-location"),
                    Field(name: "X-Echo", value: request.header[.authorization] ?? ""),
                    Field(name: .contentLocation, value: "http://u:planted-userinfo@e.com/"),
                ],
                body: [
                    .bytes(
                        Data(
                            """
                            {"access_token": "planted-json", "\\u0061pi_key": {"x": "planted-object"}, "echo":
                            "\(text)", "url": "\(request.target.absoluteString)", "again": "planted-cookie",
                            "password" : 12planted, "list": [{"secret":"planted-list
                            """.utf8))
                ])
        }
        let request = AnonymousRequestProvider("http://user:planted-password@e.com/a?api_key=planted-base")
            .post(
                .raw(
                    data: Data("password=planted-form&user=x&mail=a@b//c@d".utf8),
                    contentType: "application/x-www-form-urlencoded"), to: "/x", receiving: .data
            )
            .adding(queryItem: ("token", "planted-query")).adding(headerField: .authorization("Bearer planted-bearer"))
            .adding(headerField: Field(name: .cookie, value: "sid=planted-sent")).validating(.none)
        let lines = try await lines(
            { sink in
                if isTrace { return .trace(bodies: true, sink: sink) }
                var logging = RequestLogging(requests: .everything, responses: .everything, sink: sink)
                logging.responseFields = nil
                return logging
            }, of: request, over: echo)
        #expect(lines.count > 15)
        #expect(!lines.contains { $0.contains("planted") }, "\(lines.joined(separator: "\n"))")
        #expect(lines.contains { $0.contains("password=<redacted>&user=x&mail=a@b//") })
        #expect(lines.contains { $0.contains("\"access_token\": \"<redacted>\"") })
    }

    @Test(
        "no field, URL or body breaks a line or prints a control character", .rows("R-74"),
        arguments: ["\r\n[9] forged", "\u{1B}[2J", "\u{0}", "\u{85}", "\u{2028}", "\u{202E}", "\u{7F}", "\u{9B}1m"])
    func injection(text: String) async throws {
        var request = PreparedRequest(
            method: HTTPMethod("GE\(text)T"), target: try api.get(.data, from: "/x").prepared().target,
            header: [Field(name: Field.Name("X\(text)"), value: "a\(text)\u{301}b")],
            body: .bytes(Data("c\(text)d".utf8)))
        request.delivery = .collected(limit: 100)
        let entries = Entries()
        let sink: @Sendable (RequestLogging.Entry) -> Void = { entries.add($0) }
        let executor = Responding { request in
            RawResponse(
                head: ResponseHead(
                    status: 200, header: [Field(name: .contentType, value: "text/plain\(text)")],
                    target: request.target), body: .bytes(Data("e\(text)f\u{301}".utf8)))
        }.observing(
            .attempts, by: RequestLogging.trace(bodies: true, sink: sink),
            RequestLogging(requests: .everything, responses: .everything, sink: sink))
        _ = try await executor.execute(request)
        let lines = entries.elements.flatMap(\.lines)
        #expect(lines.count > 10)
        for scalar in lines.joined().unicodeScalars {
            let category = scalar.properties.generalCategory
            #expect(![.control, .format, .lineSeparator, .paragraphSeparator].contains(category), "\(scalar.value)")
        }
        #expect(!lines.contains { $0.hasPrefix("[9]") && !text.hasPrefix("\r\n") })
    }

    /// An executor that returns what a function makes, without checks.
    private struct Responding: RequestExecutor {
        let respond: @Sendable (PreparedRequest) -> RawResponse

        init(_ respond: @escaping @Sendable (PreparedRequest) -> RawResponse) { self.respond = respond }

        func execute(_ request: PreparedRequest) async throws(RequestError) -> RawResponse { respond(request) }
    }

    @Test("a body that is long, binary, encoded or secret is shown as its beginning or its size")
    func bodies() async throws {
        func body(_ data: Data, _ header: Header = [.contentType(.plainText)]) async throws -> [String] {
            let lines = try await lines(
                { RequestLogging(requests: .nothing, responses: .everything, sink: $0) },
                over: MockExecutor(MockResponse(header: header, body: [.bytes(data)])))
            return lines.filter { !$0.hasPrefix("200 ") && !$0.hasPrefix("Content-Type") }
        }
        #expect(try await body(Data("a\u{E9}\n\nb\n".utf8)) == ["a\u{E9}", "", "b"])
        #expect(try await body(Data([0xFF, 0xFE, 0x41])) == ["<binary data, 3 bytes>"])
        #expect(try await body(Data([0x41, 0])) == ["<binary data, 2 bytes>"])
        #expect(try await body(Data()).isEmpty)
        let coded: Header = [.contentType(.plainText), Field(name: .contentEncoding, value: "x")]
        #expect(try await body(Data("text".utf8), coded) == ["<binary data, 4 bytes>"])
        let long = try await body(Data(String(repeating: "\u{E9}", count: 500_000).utf8))
        #expect(long.count == 2 && long[0].utf8.count == 4096 && long[1] == "… (1000000 bytes)")
        let lineEnds = try await body(Data(repeating: 0x0A, count: 100_000))
        #expect(lineEnds.count <= 4098)
    }

    @Test("the logs of a request without details cost no log, and every level is silent where it says nothing")
    func idle() throws {
        var observation = Observing.Observation(of: try preparedRequest(), at: .calls)
        let idle = RequestLogging(requests: .nothing, responses: .nothing) { _ in Issue.record("an entry") }
        #expect(idle.begin(&observation) == nil && observation.bodyLimit == 0)
    }

    @Test(
        "the time to write a hostile body is proportional to its length",
        arguments: ["\"", "{\"token\":[", "\\\"", "%41"])
    func linear(unit: String) async throws {
        let ratio = try await Growth.ratio { size in
            let body = Data(String(repeating: unit, count: size / unit.utf8.count).utf8)
            let executor = Responding { request in
                RawResponse(
                    head: ResponseHead(status: 200, header: [.contentType(.json)], target: request.target),
                    body: .bytes(body))
            }
            var logging = RequestLogging(requests: .nothing, responses: .everything) { _ in }
            logging.bodyLimit = 1 << 20
            let logged = executor.observing(.calls, by: logging)
            let request = try preparedRequest()
            return { _ = try await logged.execute(request) }
        }
        #expect(ratio <= Growth.limit)
    }
}
