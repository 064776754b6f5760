import RequestsConformance
import RequestsURLSession
import TestCorpora
import TestSupport
import Testing

private let subject = ExecutorUnderTest.overLoopback(deviations: deviations) { URLSessionExecutor() }

// Each session has its own threads, and a hundred concurrent sessions are too many for a small machine.
@Suite("Conformance: URLSession", .rows("R-72"), .serialized, .timeLimit(.minutes(10)))
struct URLSessionConformanceTests {
    @Test(arguments: Scenario.all(for: subject))
    func scenario(_ scenario: Scenario) async throws {
        try await subject.run(scenario)
    }
}

@Suite("Conformance: URLSession, callback and blocking calls", .serialized, .timeLimit(.minutes(10)))
struct URLSessionCallFormConformanceTests {
    @Test(
        "callback and blocking calls", .rows("HT-4", "C29"),
        arguments: Sample.third(of: Scenario.all(for: subject), for: "callback and blocking calls"),
        [ExecutorUnderTest.CallStyle.callback, .blocking])
    func scenario(_ scenario: Scenario, style: ExecutorUnderTest.CallStyle) async throws {
        try await subject.using(style).run(scenario)
    }
}

/// The deviations of Foundation's URLSession over libcurl, which an executor cannot correct.
///
/// `Docs/Executors.md` lists them for users.
private let deviations =
    processEndingScenarios.map { name in
        ExecutorUnderTest.Deviation(scenario: name, reason: "it ends the process", isFatal: true)
    }
    + collectingScenarios.map { name in
        ExecutorUnderTest.Deviation(
            scenario: name, reason: "a produced body is collected before it is sent, and this one is endless",
            isFatal: true)
    }
    + endlessScenarios.map { name, reason in
        ExecutorUnderTest.Deviation(scenario: name, reason: reason, isFatal: true)
    } + otherDeviations

/// The scenarios that end the process; URLSessionFatalTests.swift runs each in a child process.
let processEndingScenarios = [
    // A trailer field ends the process.
    "trailers are available after the body, and never in the header",
    // The same, complete or truncated.
    "a chunked body without its last chunk is truncated",
    // A head that is truncated after its status line ends the process.
    "a connection that closes before the response is an error, and the request is sent once",
]

/// The scenarios whose endless body is collected before it is sent; URLSessionFatalTests.swift runs each in a child
/// process.
let collectingScenarios = [
    "the limit between bytes ends the wait for a peer that does not read",
    "a response before the end of the request body is returned, and its connection is closed",
]

/// The scenarios that wait for an event that does not occur, with the reason; URLSessionFatalTests.swift runs each in a
/// child process.
let endlessScenarios = [
    "the connect limit ends the wait for a connection":
        "URLSession does not report when a connection is established; without a body the first-byte limit includes "
        + "connecting",
    "cancellation ends the sending of a streamed body":
        "a produced body is collected before it is sent, so sending never starts",
    "a failed request body ends its connection or stream, and the next request uses a new one":
        "a produced body is collected before it is sent, so the connection is not used",
]

private let otherDeviations = [
    ExecutorUnderTest.Deviation(
        scenario: "a slow reader slows down the sender",
        // On a busy machine, the server's writes wait anyway, because the executor receives slowly.
        reason: "there is no back-pressure: a task that is suspended and resumed starts again",
        failure: "few chunks are produced for one that is read", isOccasional: true),
    // libcurl decides when to send and when to receive.
    ExecutorUnderTest.Deviation(
        scenario: "an early success for a body that the server does not read is an error with the response",
        reason: "the time limit names the response, which has begun, and not the body",
        failure: "found timed out while receiving the response"),
    ExecutorUnderTest.Deviation(
        scenario: "an early success before a reset is an error with the response, and another response is returned",
        reason: "libcurl may report the failed send before it reads the response",
        failure: ": expected", isOccasional: true),
    ExecutorUnderTest.Deviation(
        scenario: "an early response that ends the connection is not lost by a reset",
        reason: "libcurl may report the failed send before it reads the response",
        failure: ": expected", isOccasional: true),
    // The result depends on the order of events.
    ExecutorUnderTest.Deviation(
        scenario: "a final status instead of 100 (Continue) is the response, and the body is not sent",
        reason: "a session does not send Expect, so the body is sent at once, unless the response comes first",
        failure: "the body is not sent", isOccasional: true),
    ExecutorUnderTest.Deviation(
        scenario: "unsolicited bytes end the connection only",
        reason: "libcurl may read them as the response to the next request", failure: "the text: expected",
        isOccasional: true),
    ExecutorUnderTest.Deviation(
        scenario: "cancellation ends the wait for a connection",
        reason: "whether a connection was established is unknown, so the request may have reached the server",
        failure: "nothing has reached the server", isOccasional: true),
    ExecutorUnderTest.Deviation(
        scenario: "a GET or HEAD body that the request allows is sent, and a TRACE body never is",
        reason: "URLSession ends a GET with a body with an error of its own",
        failure: "URLSession does not send a body with GET; use SocketExecutor"),
    // Foundation reports a redirect after its body has ended, and not at all if the body fails.
    ExecutorUnderTest.Deviation(
        scenario: "a redirect is followed if its body is truncated, late or endless",
        reason: "the head of a redirect is not reported before its body has ended",
        failure: "connection lost before the response was complete"),
    ExecutorUnderTest.Deviation(
        scenario: "a redirect with a malformed body is followed",
        reason: "the head of a redirect is not reported before its body has ended",
        failure: "HTTP protocol violation"),
    ExecutorUnderTest.Deviation(
        scenario: "a truncated redirect that is not followed is an error with its head",
        reason: "the head of a redirect is not reported before its body has ended",
        failure: "the status: expected Optional(302 Found), found nil"),
    ExecutorUnderTest.Deviation(
        scenario: "the connection of a redirect is reused if its body is short or the connection shared",
        reason: "Foundation reads the body of a redirect to its end, so the connection is reused",
        failure: "exchange, 65537 bytes: expected [[0, 0], [1, 0]], found [[0, 0], [0, 1]]"),
    ExecutorUnderTest.Deviation(
        scenario: "a chunked body is sent again with its length to an HTTP/1.0 server",
        reason: "the version of a response is not reported",
        failure: #"Transfer-Encoding: expected nil, found Optional("chunked")"#),
    // The result is different.
    ExecutorUnderTest.Deviation(
        scenario: "a body that the server requests with 100 (Continue) is sent, and the response returned",
        reason: "the body is sent at once, because a session does not send Expect",
        failure: #"Expect: expected Optional("100-continue"), found nil"#),
    ExecutorUnderTest.Deviation(
        scenario: "request trailers arrive after the body, and not in the header",
        reason: "a session does not support request trailers; the request is rejected",
        failure: "invalid request: trailers are not supported"),
    ExecutorUnderTest.Deviation(
        scenario: "interim responses are reported and are not the response",
        reason: "a session ignores interim responses",
        failure: "interim responses: expected [102 Processing, 103 Early Hints], found []"),
    ExecutorUnderTest.Deviation(
        scenario: "a connection is reused after a response that allows it",
        reason: "the connection is reused, but the metrics do not report it",
        failure: "expectation failed: the metrics report the reuse"),
    ExecutorUnderTest.Deviation(
        scenario: "fields keep their order, repetitions and values",
        reason: "a session returns fields as a dictionary, with repeated ones joined",
        failure: "the fields: expected ["),
    ExecutorUnderTest.Deviation(
        scenario: "methods are sent as spelled", reason: "Foundation writes well-known methods in capitals",
        failure: #""PATCH", "GET", "Frob", "M-SEARCH"]"#),
    ExecutorUnderTest.Deviation(
        scenario: "a request is sent with Host first, one Content-Length, and no added credentials or content fields",
        reason: "repeated fields are joined",
        failure: #"X-Mine: expected ["1", "2"], found ["1,2"]"#),
]
