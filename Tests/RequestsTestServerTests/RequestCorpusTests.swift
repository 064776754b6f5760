import RequestsMock
import RequestsTestServer
import TestCorpora
import Testing

// The cases are not in the repository: without the folder this suite skips.
@Suite(
    "Test server: request corpus", .timeLimit(.minutes(5)),
    .enabled(if: Corpora.arePresent, "no corpora beside the package"))
struct RequestCorpusTests {
    @Test("one answer a request, a refusal closes (R-73)", arguments: Corpora.requests)
    func answers(test: RequestCase) async throws {
        try await withTestServer(serving: MockExecutor(.status(204)), on: .temporarySocket()) { server in
            let client = try await RawClient(server)
            try await client.send(Array(test.requestB64))
            client.endSending()
            let answer = try await client.receiveBytes()
            let methods = server.exchanges.map(\.method)
            let statuses = try RawClient.statuses(in: answer, answering: methods).filter { $0 >= 200 }
            let refusals = statuses.filter { $0 >= 400 }.count
            #expect(refusals <= 1)
            #expect(statuses.dropLast().allSatisfy { $0 == 204 })
            switch test.verdict {
            case _ where test.isAsteriskForAnotherMethod: #expect(refusals == 1 && statuses == [400])
            case .accept:
                let isServable = !methods.contains(.connect) && server.exchanges.allSatisfy(\.hasUsableHost)
                #expect((refusals == 0) == isServable)
                let expected = try #require(test.h11Reading)
                #expect(statuses.count == expected.count)
                #expect(server.exchanges.map(\.target) == expected.map(\.target))
                #expect(!isServable || server.exchanges.map(\.body) == expected.map(\.bodyB64))
            case .reject: #expect(refusals == 1 && statuses.last != 204)
            default: break
            }
        }
    }
}

extension TestServer.Exchange {
    /// Whether the Host is one that a URL of ours can have: a registered name may have more bytes than a host's.
    fileprivate var hasUsableHost: Bool { (try? TargetURI("http://\(header[.host] ?? "a")")) != nil }
}
