import RequestsMock
import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite(
    "Test server: request corpus", .timeLimit(.minutes(10)),
    .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct ServedRequestCorpusTests {
    @Test(
        "each request gets one response, and an error response is the last", .rows("R-73"), arguments: Corpora.requests)
    func responses(test: RequestCase) async throws {
        try await withTestServer(serving: MockExecutor(.status(204)), on: .temporarySocket()) { server in
            let client = try await RawClient(server)
            try await client.send(Array(test.requestB64))
            client.endSending()
            let response = try await client.receiveBytes()
            let methods = server.exchanges.map(\.method)
            let statuses = try RawClient.statuses(in: response, to: methods).filter { $0 >= 200 }
            let errors = statuses.filter { $0 >= 400 }.count
            #expect(errors <= 1)
            #expect(statuses.dropLast().allSatisfy { $0 == 204 })
            switch test.verdict {
            case _ where test.isAsteriskForAnotherMethod: #expect(errors == 1 && statuses == [400])
            case .accept:
                let isServable = !methods.contains(.connect) && server.exchanges.allSatisfy(\.hasUsableHost)
                #expect((errors == 0) == isServable)
                let expected = try #require(test.h11Reading)
                #expect(statuses.count == expected.count)
                #expect(server.exchanges.map(\.target) == expected.map(\.target))
                #expect(!isServable || server.exchanges.map(\.body) == expected.map(\.bodyB64))
            case .reject: #expect(errors == 1 && statuses.last != 204)
            default: break
            }
        }
    }
}

extension TestServer.Exchange {
    /// Whether a ``TargetURI`` can have the Host: a registered name can contain bytes that a URL host cannot.
    fileprivate var hasUsableHost: Bool { (try? TargetURI("http://\(header[.host] ?? "a")")) != nil }
}
