import Requests
import RequestsHTTP1
import RequestsPOSIX
import RequestsSocket
import TestCorpora
import TestSupport
import Testing

// The cases are not in the repository. Without the folder, this suite is skipped.
@Suite(
    "Cases of curl over sockets", .notInstrumented("its cases differ only in bytes"), .timeLimit(.minutes(10)),
    .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
struct CurlCaseTests {
    /// Returns a resolver that maps every name to `peer`, so that no test contacts a name server.
    private static func resolver(for peer: ScriptedPeer) -> Resolver {
        let address = peer.address
        return Resolver { _ in [address] }
    }

    private static let supported = Corpora.curl.filter { CurlCoverage.unmet(by: $0).isEmpty }
    static let run = supported.filter { CurlCoverage.difference(in: $0) == nil }
    static let differing = supported.filter { CurlCoverage.difference(in: $0) != nil }

    @Test("every case runs, differs for a stated reason, or needs a named feature")
    func coverage() {
        var counts: [String: Int] = [:]
        for test in Corpora.curl { for need in CurlCoverage.unmet(by: test) { counts[need, default: 0] += 1 } }
        let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print(
            "curl cases: \(Self.run.count) of \(Corpora.curl.count) run, \(Self.differing.count) differ; \(Corpora.curl.count - Self.supported.count) need: \(list)"
        )
        #expect(Corpora.curl.count > 100)
        for test in Corpora.curl { #expect(CurlCoverage.unknown(in: test) == [], "\(test)") }
    }

    /// The cases that enable curl's cookies, or send one.
    private static let cookieCases = Corpora.curl.filter { test in
        test.client.operations.flatMap(\.options).contains { $0.name == "cookie" || $0.name == "cookie-jar" }
    }

    @Test("every cookie case of curl runs, or differs for a stated reason", .rows("R-39"))
    func cookies() async throws {
        var (agreeing, differing) = (0, 0)
        for test in Self.cookieCases {
            let found = try await Self.deviations(in: test)
            let expected = CurlCoverage.difference(in: test)?.deviations ?? []
            #expect(Set(found.keys) == expected, "\(test): \(found)")
            if found.isEmpty { agreeing += 1 } else if Set(found.keys) == expected { differing += 1 }
        }
        let count = Self.cookieCases.count
        print("curl's cookie cases: \(agreeing + differing) of \(count) run, \(agreeing) agree, \(differing) differ")
        #expect(count >= 28 && agreeing + differing == count)
    }

    @Test(
        "requests, responses and errors are those that curl expects",
        .rows("R-2", "R-9", "R-20", "R-27", "R-31", "R-32", "R-34", "R-37"),
        arguments: run)
    func agrees(test: CurlCase) async throws {
        let found = try await Self.deviations(in: test)
        #expect(found.isEmpty)
    }

    @Test("a case that differs from curl differs as its reason says, and in nothing else", arguments: differing)
    func differs(test: CurlCase) async throws {
        let difference = try #require(CurlCoverage.difference(in: test))
        // In one of them this client waits where curl does not.
        let found = try await Self.deviations(in: test, timeout: .milliseconds(500))
        #expect(Set(found.keys) == difference.deviations, "\(difference.reason): \(found)")
    }

    /// Returns the differences of the requests and the result from those that curl expects, with their details.
    private static func deviations(
        in test: CurlCase, timeout: Duration = .seconds(60)
    ) async throws -> [CurlDeviation: String] {
        let peer = try ScriptedPeer { line, _, peer in serve(line, peer, test) }
        let client = CurlClient(
            test: test, port: String(peer.address.port ?? 0),
            executor: .with { $0.resolver = resolver(for: peer) }, timeout: timeout)
        var last: TypedResponse<Data>?
        var failure: RequestError?
        for operation in client.operations() {
            do throws(RequestError) {
                last = try await client.perform(operation)
                failure = nil
            } catch {
                failure = error
            }
        }
        var found: [CurlDeviation: String] = [:]
        if let failure, test.expect.outcome != "error" || !test.expects(failure.reason) {
            found[.error(failure.reason)] = "\(failure), expected \(test.expect.errorKind ?? "none")"
        } else if failure == nil, test.expect.outcome == "error" {
            found[.noError] = test.expect.errorKind ?? ""
        }
        if let expected = test.expect.finalResponse, let last {
            if last.status.code != expected.status { found[.status] = "\(last.status)" }
            let isDecoded = last.metrics.contentEncoding != nil
            // Without a decoded body in the collection, the decoded body is at least different from the coded one.
            let isSame =
                isDecoded && expected.decodedBodyB64 == nil
                ? last.value != expected.bodyB64
                : last.value == (isDecoded ? expected.decodedBodyB64 : expected.bodyB64)
            if !isSame { found[.body] = String(decoding: last.value, as: UTF8.self) }
        }
        let (sent, expected) = (peer.notes, expectedRequests(of: test, port: client.port))
        if sent.count != expected.count { found[.requestCount] = "sent \(sent) instead of \(expected)" }
        for (sent, expected) in zip(sent, expected) {
            for part in CurlMessage.differingParts(sent, expected) {
                found[.part(part)] = "sent \(sent) instead of \(expected)"
            }
        }
        return found
    }

    /// Responds to the k-th request with the k-th reply, and records each request as text that can be compared.
    private static func serve(_ line: borrowing ScriptedPeer.Line, _ peer: ScriptedPeer, _ test: CurlCase) {
        var bytes: [UInt8] = []
        while let (request, body) = receive(line, &bytes, unlessRejected: test.rejectsBody(of: peer.notes.count)) {
            let number = peer.notes.count
            let fields = request.header.map { [$0.name.rawValue, $0.value] }
            let start = request.line
            let message = CurlMessage(start.method.rawValue, start.target, "\(start.version)", fields, body)
            peer.note(message.summary(for: test))
            guard number < test.server.exchanges.count else { return }
            let port = Array(String(peer.address.port ?? 0).utf8)
            line.send(replacing(Array("@PORT".utf8), with: port, in: Array(test.server.exchanges[number].replyB64)))
            if test.server.exchanges[number].closeAfter { return }
        }
    }

    private static func receive(
        _ line: borrowing ScriptedPeer.Line, _ bytes: inout [UInt8], unlessRejected isRejected: Bool
    ) -> (ReceivedRequest, [UInt8])? {
        var reader = RequestReader()
        var request: ReceivedRequest?
        var body: [UInt8] = []
        while true {
            guard let (consumed, event) = try? bytes.withUnsafeBytes({ try reader.next(in: $0) }) else { return nil }
            if case .data(let range) = event { body += bytes[range] }
            bytes.removeFirst(consumed)
            switch event {
            case .head(let head):
                request = head
                guard head.expectsContinue else { continue }
                if isRejected { return (head, []) }
                line.send("HTTP/1.1 100 Continue\r\n\r\n")
            case .data: continue
            case .end: return request.map { ($0, body) }
            case .needMore:
                guard let more = line.receive() else { return nil }
                bytes += more
            }
        }
    }

    private static func expectedRequests(of test: CurlCase, port: String) -> [String] {
        test.expect.requests.map { request in
            let fields = request.headers.map { [$0[0], $0[1].replacing("@PORT", with: port)] }
            let body = request.isBodySent || test.isForm ? Array(request.bodyB64 ?? Data()) : []
            let target = request.target.replacing("@PORT", with: port)
            let version = test.needs.contains("send-http/1.0") ? "HTTP/1.0" : "HTTP/1.1"
            return CurlMessage(request.method, target, version, fields, body).summary(for: test)
        }
    }

    private static func replacing(_ placeholder: [UInt8], with text: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var remainder = bytes[...]
        while let found = remainder.firstRange(of: placeholder) {
            result += remainder[..<found.lowerBound] + text
            remainder = remainder[found.upperBound...]
        }
        return result + remainder
    }
}

extension CurlCase {
    /// Whether the server rejects the body of the n-th request, which expects 100 (Continue).
    fileprivate func rejectsBody(of number: Int) -> Bool {
        !isForm && expect.requests.indices.contains(number) && !expect.requests[number].isBodySent
    }

    /// Whether the request contains a form.
    ///
    /// The collection shortens its boundary, and with it the body.
    fileprivate var isForm: Bool { needs.contains("multipart") }
}
