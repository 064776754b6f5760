import Requests
import Testing

private struct Cause: Error, Equatable {}

@Suite("RequestError")
struct RequestErrorTests {
    @Test("an error has a size of 24 bytes, because its evidence is shared")
    func size() {
        #expect(MemoryLayout<RequestError>.size == 24)
    }

    @Test(
        "an error reports whether the server may have received the request",
        arguments: [
            (RequestError.Reason.invalidRequest(.malformedURL), false), (.bodyEncodingFailed, true),
            (.fileAccessFailed, true),
            (.bodyNotReplayable, false), (.credentialsUnavailable, false), (.unsupportedScheme, false),
            (.hostNotFound, false), (.executorClosed, false), (.connectionFailed, false), (.connectionLost, true),
            (.protocolViolation, true),
            (.tooLarge(limit: 1), true), (.unacceptableStatus, true), (.unexpectedRedirect, true), (.notModified, true),
            (.unexpectedContentType, true), (.unexpectedNoContent, true), (.decodingFailed, true), (.cancelled, true),
            (.other, true), (.timedOut(.resolving), false), (.timedOut(.waitingForConnection), false),
            (.timedOut(.connecting), false), (.timedOut(.sending), true), (.timedOut(.firstByte), true),
            (.timedOut(.betweenBytes), true), (.timedOut(.total), true),
        ])
    func mayHaveReachedServer(reason: RequestError.Reason, mayHave: Bool) throws {
        let error = RequestError(reason)
        #expect(error.mayHaveReachedServer == mayHave)
        #expect(!error.beforeSending().mayHaveReachedServer)
        let head = ResponseHead(status: 200, target: try TargetURI("http://e.com"))
        switch reason {
        case .timedOut(.resolving), .timedOut(.waitingForConnection), .timedOut(.connecting): break
        default: #expect(error.adding(response: head).mayHaveReachedServer, "a response was received")
        }
        #expect(error.isCancellation == (reason == .cancelled))
        #expect(!"\(reason)".isEmpty)
    }

    @Test("wrapping keeps a RequestError, recognizes cancellation and keeps other errors as the underlying error")
    func wrapping() async throws {
        let kept = #expect(throws: RequestError.self) {
            try RequestError.wrapping(.other) { throw RequestError(.hostNotFound) }
        }
        #expect(kept?.reason == .hostNotFound)
        let cancelled = #expect(throws: RequestError.self) {
            try RequestError.wrapping(.other) { throw CancellationError() }
        }
        #expect(cancelled?.reason == .cancelled)
        let others = await #expect(throws: RequestError.self) {
            try await RequestError.wrapping(.connectionLost) { () async throws in throw Cause() }
        }
        #expect(others?.reason == .connectionLost && others?.underlying as? Cause == Cause())
        #expect(try RequestError.wrapping(.other) { 7 } == 7)
    }

    @Test("evidence added later fills only missing values, except for the number of attempts")
    func adding() throws {
        let first = try PreparedRequest(url: URL("https://e.com/1"))
        let second = try PreparedRequest(url: URL("https://e.com/2"))
        let error = RequestError(.other, detail: "d", request: first, body: Data([1]))
            .adding(request: second, body: Data([2]), attempts: 3)
        #expect(error.request?.target == first.target && error.body == Data([1]))
        #expect(error.attempts == 3 && error.detail == "d")
        #expect(RequestError(.other).adding(request: second).request?.target == second.target)
        #expect(RequestError(.other).attempts == 1)
    }

    @Test("the description is one line of evidence, and the debug description adds details")
    func description() throws {
        let request = try PreparedRequest(url: URL("https://e.com/a?b=c"))
        let head = ResponseHead(status: 404, header: [.contentType(.json)], target: request.target)
        let error = RequestError(
            .unacceptableStatus, detail: "why", request: request, response: head, body: Data("{\"a\":\n1}".utf8)
        ).adding(attempts: 2)
        #expect("\(error)" == "GET https://e.com/a?b=c: 404 Not Found: unacceptable status: why")
        #expect(
            error.debugDescription == """
                GET https://e.com/a?b=c: 404 Not Found: unacceptable status: why
                  response: 404 Not Found, application/json
                  body: 8 bytes: {"a": 1}
                  requests sent: 2
                  curl 'https://e.com/a?b=c'
                """)
        #expect(RequestError(.other, body: Data([0xFF])).debugDescription.contains("1 byte: binary data"))
        let long = RequestError(.other, body: Data(("x" + String(repeating: "é", count: 200)).utf8)).debugDescription
        #expect(long.contains("401 bytes: xéé") && long.hasSuffix("é…"))
    }

    @Test(
        "a decoding error names the coding path and the problem",
        arguments: [
            (#"{"users":[{"id":"x"}]}"#, "expected Int at .users[0].id"),
            (#"{"users":[{}]}"#, "no value for “id” at .users[0]"),
            (#"{"users":null}"#, "found null at .users"), ("{", "malformed at the top level"),
        ])
    func decoding(json: String, expected: String) async throws {
        struct Reply: Decodable {
            struct User: Decodable { let id: Int }
            let users: [User]
        }
        let request = AnonymousRequestProvider.example.get(.json(Reply.self), from: "/x")
        let error = await #expect(throws: RequestError.self) { try await StubExecutor(200, json).perform(request) }
        #expect(error?.reason == .decodingFailed && error?.status == 200 && error?.body == Data(json.utf8))
        #expect(error?.debugDescription.contains(expected) == true, "\(error?.debugDescription ?? "")")
    }

    @Test("a decoding error shows the line and the position of the value")
    func caret() async throws {
        struct Item: Decodable { let id: Int }
        let json = "[{\"id\": 1},\n\t{\"é\": 0, \"id\": \"x\"}]"
        let request = AnonymousRequestProvider.example.get(.json([Item].self), from: "/x")
        let error = await #expect(throws: RequestError.self) { try await StubExecutor(200, json).perform(request) }
        let lines = try #require(error).debugDescription.split(separator: "\n").map(String.init)
        let index = try #require(lines.firstIndex { $0.contains("line 2: ") })
        #expect(lines[index] == #"  line 2:  {"é": 0, "id": "x"}]"#)
        #expect(lines[index + 1] == "                          ^")
    }
}
