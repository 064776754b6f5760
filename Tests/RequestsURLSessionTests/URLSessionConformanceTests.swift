import RequestsConformance
import RequestsURLSession
import Testing

private let subject = ExecutorUnderTest.overLoopback(deviations: deviations) { URLSessionExecutor() }

// A session has threads of its own, and a hundred sessions at once are more than a small machine has room for.
@Suite("Conformance: URLSession", .serialized, .timeLimit(.minutes(5)))
struct URLSessionConformanceTests {
    @Test(arguments: Scenario.all(for: subject))
    func scenario(_ scenario: Scenario) async throws {
        try await subject.run(scenario)
    }
}

@Suite("Conformance: URLSession through the faces that are not async", .serialized, .timeLimit(.minutes(5)))
struct URLSessionFaceConformanceTests {
    @Test(
        "every promise is kept through them, too (HT-4, C29)", arguments: Scenario.all(for: subject),
        [ExecutorUnderTest.Face.callback, .blocking])
    func scenario(_ scenario: Scenario, face: ExecutorUnderTest.Face) async throws {
        try await subject.through(face).run(scenario)
    }
}

/// What Foundation's URLSession over libcurl does otherwise, which cannot be repaired from outside; `Docs/Executors.md`
/// has the same list for users.
private let deviations = [
    // The process ends: URLSessionFatalTests.swift proves each in a child process.
    Deviation(
        scenario: "trailers are given once the body is read, and never as header",
        reason: "a trailer field ends the process", isFatal: true),
    Deviation(
        scenario: "a chunked body that ends before its last chunk is cut short",
        reason: "a trailer field ends the process, whole or cut", isFatal: true),
    Deviation(
        scenario: "a connection that ends before the head is lost, and the request was sent once",
        reason: "a head cut short after its status line ends the process", isFatal: true),
    // The promise is of something that does not happen here, so the scenario would wait for ever.
    Deviation(
        scenario: "the connect limit ends the wait for a connection",
        reason: "URLSession does not tell when a connection stands; without a body the first-byte limit runs from the "
            + "start", isFatal: true),
    Deviation(
        scenario: "the limit between bytes ends the wait for a peer that does not read",
        reason: "a produced body is collected before it is sent, and this one has no end", isFatal: true),
    Deviation(
        scenario: "an answer that comes before the body is sent is given, and its connection closed",
        reason: "a produced body is collected before it is sent, and this one has no end", isFatal: true),
    Deviation(
        scenario: "cancelling ends the sending of a body that is still produced",
        reason: "a produced body is collected before it is sent, so there is no sending to wait for", isFatal: true),
    Deviation(
        scenario: "a body that failed closes its connection, and the next request has another",
        reason: "a produced body is collected before it is sent, so the connection is untouched", isFatal: true),
    // The outcome depends on what comes first.
    Deviation(
        scenario: "a slow consumer slows the sender",
        reason: "nothing holds a task back: suspended and resumed it begins anew", isFatal: true),
    Deviation(
        scenario: "a half-read response closes its connection, and the next request has another",
        reason: "nothing holds a task back, so the whole response may have been read, and its connection be free again",
        isFatal: true),
    Deviation(
        scenario: "bytes nobody asked for end their connection and not the response",
        reason: "libcurl may take them for the response to the next request", isFatal: true),
    Deviation(
        scenario: "cancelling ends the wait for a connection",
        reason: "it does end; but whether a connection stood is not known, so the request may have reached the server",
        isFatal: true),
    Deviation(
        scenario: "a refusal in the place of 100 is the answer, and the body stays here",
        reason: "a session does not send Expect, so the server never refuses the body", isFatal: true),
    // Foundation reports a redirect once its body has ended, and not at all when that fails.
    Deviation(
        scenario: "a redirect is followed whatever becomes of its body",
        reason: "the head of a redirect is not reported before its body has ended",
        failure: "the connection ended before the response did"),
    Deviation(
        scenario: "a redirect with a malformed body is followed",
        reason: "the head of a redirect is not reported before its body has ended",
        failure: "the peer sent what HTTP does not allow"),
    Deviation(
        scenario: "a redirect that is not followed and is cut short is an error with its head",
        reason: "the head of a redirect is not reported before its body has ended",
        failure: "the status is nil, not Optional(302 Found)"),
    Deviation(
        scenario: "a redirect's connection is used again when its body is short, and closed otherwise",
        reason: "Foundation reads the body of a redirect to its end, so the connection is used again",
        failure: "places, 65537 bytes is [[0, 0], [0, 1]], not [[0, 0], [1, 0]]"),
    Deviation(
        scenario: "a chunked body is repeated with its length to a server of HTTP/1.0",
        reason: "the version of a response is not reported",
        failure: #"Transfer-Encoding is Optional("chunked"), not nil"#),
    // The outcome is another.
    Deviation(
        scenario: "a body that the server asks for is sent, and the answer given",
        reason: "it is sent at once; a session does not send Expect",
        failure: #"Expect is nil, not Optional("100-continue")"#),
    Deviation(
        scenario: "fields behind a body arrive there, and not in the header",
        reason: "a session has none: the request is refused",
        failure: "the request is invalid: this executor cannot send trailers"),
    Deviation(
        scenario: "what the server says before its answer is told, and is not the answer",
        reason: "a session passes over it",
        failure: "interim responses is [], not [102 Processing, 103 Early Hints]"),
    Deviation(
        scenario: "a connection is used again after a response that allows it",
        reason: "it is; but the metrics cannot tell",
        failure: "not so: the metrics tell the reuse"),
    Deviation(
        scenario: "fields keep their order, their repetitions and their values",
        reason: "they come as a dictionary, repeated ones joined",
        failure: "the fields is ["),
    Deviation(
        scenario: "methods are sent as they are spelled", reason: "Foundation writes well-known methods in capitals",
        failure: #""PATCH", "GET", "Frob", "M-SEARCH"], not"#),
    Deviation(
        scenario: "the request goes out with Host first and once, one Content-Length, and nothing it was not given",
        reason: "all of it holds but that repeated fields are joined",
        failure: #"X-Mine is ["1,2"], not ["1", "2"]"#),
]
