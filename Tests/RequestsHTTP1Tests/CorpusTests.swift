import Requests
import RequestsHTTP1
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, these suites are skipped.
@Suite("Response corpus", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct ResponseCorpusTests {
    @Test("the files of both corpora are loaded")
    func files() {
        #expect(Corpora.responses.count > 100)
        #expect(Corpora.requests.count > 100)
    }

    @Test(
        "every response is accepted or rejected as the corpus states",
        .rows(
            "R-9", "R-10", "R-11", "R-12", "R-13", "R-14", "R-15", "R-16", "R-17", "R-18", "R-19", "R-20", "R-22",
            "R-23", "R-26"),
        arguments: Corpora.responses)
    func verdict(of test: ResponseCase) throws {
        let result = Result { try readResponse(test.bytes, answering: test.method) }
        switch (test.expect.verdict, result) {
        case (.accept, .failure(let error)): Issue.record("rejected: \(error)")
        case (.reject, .success(let reading)): Issue.record("accepted as \(reading)")
        case (_, .success(let reading)): try expect(reading, of: test)
        case (_, .failure): break
        }
    }

    @Test("every response is read the same, however its bytes arrive", .rows("R-20"), arguments: Corpora.responses)
    func arrival(of test: ResponseCase) {
        #expect(deliveriesThatDiffer(test.bytes, answering: test.method) == [])
    }

    @Test(
        "a truncated response is an error, unless its body ends when the connection closes", .rows("R-20"),
        arguments: Corpora.responses.filter { $0.expect.verdict == .accept })
    func truncation(of test: ResponseCase) throws {
        let whole = try readResponse(test.bytes, answering: test.method)
        let message = test.bytes.count - whole.unread
        let firstOpenCut = whole.response?.framing == .untilClose ? message - whole.body.count : message
        for cut in 0..<firstOpenCut {
            #expect(throws: WireError.self, "cut at \(cut)") {
                try readResponse(test.bytes[..<cut], answering: test.method)
            }
        }
    }

    private func expect(_ reading: Reading, of test: ResponseCase) throws {
        let expected = try #require(test.expect.ifAccepted)
        let response = try #require(reading.response)
        #expect(response.line.status.code == expected.status)
        #expect(response.line.version.description == "HTTP/\(expected.httpVersion)")
        #expect(Array(response.line.reason.utf8) == latin1(expected.reason))
        #expect(lines(of: response.header) == expected.headers.map(lineBytes))
        #expect(lines(of: reading.trailers) == expected.trailers.map(lineBytes))
        #expect(reading.body == Array(expected.bodyB64))
        #expect(reading.interim.map(\.line.status.code) == expected.informational.map(\.status))
        #expect(
            reading.interim.map { lines(of: $0.header) } == expected.informational.map { $0.headers.map(lineBytes) })
        #expect(name(of: response.framing) == expected.framing)
        #expect(reading.unread == expected.unreadBytesAfterMessage)
        #expect(reading.isReusable == (test.expect.connectionReusable ?? false))
    }

    private func name(of framing: BodyFraming) -> String {
        switch framing {
        case .none: "none"
        case .counted: "content-length"
        case .chunked: "chunked"
        case .untilClose: "until-close"
        }
    }
}

@Suite("Request corpus", .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct RequestCorpusTests {
    @Test("every request is accepted or rejected as the corpus states", .rows("R-73"), arguments: Corpora.requests)
    func verdict(of test: RequestCase) throws {
        let result = Result { try readRequests(test.bytes) }
        guard !test.isAsteriskForAnotherMethod else {
            #expect(throws: WireError.violation(.requestTarget)) { try result.get() }
            return
        }
        switch (test.verdict, result) {
        case (.accept, .failure(let error)): Issue.record("rejected: \(error)")
        case (.reject, .success(let readings)): Issue.record("accepted as \(readings)")
        case (_, .success(let readings)): expect(readings, of: test)
        case (_, .failure): break
        }
    }

    @Test("every request is read the same, however its bytes arrive", .rows("R-73"), arguments: Corpora.requests)
    func arrival(of test: RequestCase) {
        #expect(requestDeliveriesThatDiffer(test.bytes) == [])
    }

    private func expect(_ readings: [Reading], of test: RequestCase) {
        guard let expected = test.h11Reading else { return }
        #expect(readings.count == expected.count)
        for (reading, message) in zip(readings, expected) {
            #expect(reading.request?.line.method.rawValue == message.method)
            #expect(reading.request?.line.target == message.target)
            #expect(reading.request?.line.version.description == "HTTP/\(message.version)")
            #expect(reading.header.map(lines) == message.headers.map(lineBytes))
            #expect(lines(of: reading.trailers) == message.trailers.map(lineBytes))
            #expect(reading.body == Array(message.bodyB64))
        }
    }
}

/// Returns the bytes of a corpus text, in which each scalar represents one byte.
