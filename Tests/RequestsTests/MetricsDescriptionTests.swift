import Requests
import TestSupport
import Testing

@Suite("The description of metrics")
struct MetricsDescriptionTests {
    @Test("metrics are described by the measurements that are known, in text and dumps")
    func description() {
        var metrics = RawResponse.Metrics()
        #expect("\(metrics)" == "1 transmission")
        metrics = RawResponse.Metrics(transmissions: 2, isReusedConnection: true)
        metrics.httpVersion = .http10
        metrics.isRequestBodyIncomplete = true
        metrics.timeToLookup = .microseconds(1_250)
        metrics.timeToResponseHead = .milliseconds(12)
        metrics.timeToEnd = .seconds(2)
        metrics.encodedBodyLength = 1
        metrics.contentEncoding = "gzip\r\nX: y"
        metrics.cacheStatus = RawResponse.Metrics.CacheStatus(forwardReason: .bypass, forwardedStatus: 200)
        metrics.retries = [.init(cause: .status(503), delay: .seconds(1)), .init(cause: .rejected(401), delay: .zero)]
        metrics.retryRefusal = .budgetExhausted
        #expect(
            "\(metrics)" == """
                2 transmissions, reused connection, HTTP/1.0, request body incomplete, lookup after 1.2 ms, head after \
                12.0 ms, end after 2000.0 ms, 1 byte before content decoding, content coding “gzip\\r\\nX: y”, cache: \
                Requests; fwd=bypass; fwd-status=200, attempt 1: 503 Service Unavailable, repeated after 1.0 seconds, \
                attempt 2: 401 Unauthorized, repeated with other credentials after 0.0 seconds, not repeated: the \
                retry budget is exhausted
                """)
        var dumped = ""
        dump(metrics, to: &dumped)
        #expect(dumped.contains("head after 12.0 ms") && !dumped.contains("\(Int64.min)") && !dumped.contains("nil"))
    }

    @Test("the description of a typed response contains no placeholder for a missing value")
    func response() async throws {
        let executor = StubExecutor(200, "x")
        let response = try await executor.response(for: AnonymousRequestProvider.example.get(.text, from: "/x"))
        #expect("\(response.metrics)" == "1 transmission" && !"\(response)".contains("\(Int64.min)"))
    }
}
