import Requests
import RequestsHTTP1
import RequestsPOSIX
import RequestsSocket
import TestCorpora
import Testing

// The cases are not in the repository: without the folder this suite skips.
@Suite(
    "curl's cases over sockets", .timeLimit(.minutes(2)),
    .enabled(if: Corpora.arePresent, "no corpora beside the package"))
struct CurlCaseTests {
    /// Where this client is stricter than curl, or leaves a choice to its caller, on purpose.
    static let differences: [String: String] = [
        "curl-0024": "the body of a refusal is waited for, which this server never ends",
        "curl-0129": "a higher minor version is read as HTTP/1.1 (RFC 9110 §2.5)",
        "curl-0194": "a 416 is no success, even where all bytes are here already (RFC 9110 §15.5.17)",
        "curl-0365": "Transfer-Encoding with Content-Length is refused (RFC 9112 §6.1)",
        "curl-0395": "a Content-Length over 2^63 is refused",
        "curl-0447": "a file has one length, read when it is opened",
        "curl-0770": "Content-Lengths that differ are refused (RFC 9112 §6.3)",
        "curl-0772": "two Locations matter only to who follows them",
        "curl-1065": "one file for two URLs is curl's command line",
        "curl-1116": "the line of a chunk ends with CR LF (RFC 9112 §7.1)",
        "curl-1261": "a limit of no redirects hands the first over",
        "curl-1417": "the line of a chunk ends with CR LF (RFC 9112 §7.1)",
        "curl-1473": "white space before the first field is refused (RFC 9112 §2.2)",
        "curl-1482": "chunked twice is refused (RFC 9112 §6.1)",
        "curl-1483": "chunked twice is refused (RFC 9112 §6.1)",
        "curl-1493": "the coding identity is refused (RFC 9112 §7)",
        "curl-1494": "the coding identity is refused (RFC 9112 §7)",
    ]

    /// Names other than localhost have no address here: no test asks a name server.
    private static let noLookups = Resolver { _ throws(ResolverError) in throw .hostNotFound("no lookups in tests") }

    static let run = Corpora.curl.filter { CurlClient.unmet(by: $0).isEmpty && differences[$0.id] == nil }

    @Test("the cases that are left out, by what they need")
    func leftOut() {
        var counts: [String: Int] = [:]
        for test in Corpora.curl { for need in CurlClient.unmet(by: test) { counts[need, default: 0] += 1 } }
        let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print(
            "curl's cases: \(Self.run.count) of \(Corpora.curl.count) run, \(Self.differences.count) differ; not met: \(list)"
        )
        #expect(Self.run.count > Corpora.curl.count / 4)
    }

    @Test(
        "what goes out and what comes back is what curl expects (R-2, R-9, R-20, R-27, R-31, R-32, R-34)",
        arguments: run)
    func behaves(test: CurlCase) async throws {
        let peer = try ScriptedPeer { line, _, peer in Self.serve(line, peer, test) }
        let client = CurlClient(
            test: test, port: String(peer.address.port ?? 0), executor: .with { $0.resolver = Self.noLookups })
        var last: TypedResponse<Data>?
        var failure: (any Error)?
        for operation in test.client.operations {
            do {
                last = try await client.perform(operation)
                failure = nil
            } catch {
                failure = error
            }
        }
        if case .timedOut? = (failure as? RequestError)?.reason { Issue.record("out of time") }
        if test.expect.outcome == "error" {
            #expect(failure != nil, "\(test.expect.errorKind ?? "")")
        } else if let failure {
            Issue.record("\(failure)")
        }
        if let expected = test.expect.finalResponse, let last {
            #expect(last.status.code == expected.status)
            #expect(last.value == expected.bodyB64)
        }
        #expect(peer.notes == Self.expectedRequests(of: test, port: client.port))
    }

    /// Answers the k-th request with the k-th reply, and notes each as text that can be compared.
    private static func serve(_ line: borrowing ScriptedPeer.Line, _ peer: ScriptedPeer, _ test: CurlCase) {
        var bytes: [UInt8] = []
        while let (request, body) = receive(line, &bytes, unlessRefused: test.refusesBody(of: peer.notes.count)) {
            let number = peer.notes.count
            peer.note(
                summary(
                    request.line.method.rawValue, request.line.target,
                    request.header.map {
                        [$0.name.rawValue, $0.value]
                    }, body, of: test))
            guard number < test.server.exchanges.count else { return }
            let port = Array(String(peer.address.port ?? 0).utf8)
            line.send(replacing(Array("@PORT".utf8), with: port, in: Array(test.server.exchanges[number].replyB64)))
            if test.server.exchanges[number].closeAfter { return }
        }
    }

    private static func receive(
        _ line: borrowing ScriptedPeer.Line, _ bytes: inout [UInt8], unlessRefused isRefused: Bool
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
                if isRefused { return (head, []) }
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
            return summary(
                request.method, request.target.replacing("@PORT", with: port), fields,
                request.isBodySent ? Array(request.bodyB64 ?? Data()) : [],
                of: test)
        }
    }

    /// A request as one text: its fields sorted, without those that clients choose for themselves.
    private static func summary(
        _ method: String, _ target: String, _ fields: [[String]], _ body: [UInt8], of test: CurlCase
    ) -> String {
        let given = test.client.operations.flatMap(\.options).map { $0.value.lowercased() }
        let own = ["user-agent", "accept", "accept-encoding", "expect"].filter { name in
            !given.contains { $0.hasPrefix(name + ":") }
        }
        let lines = fields.map { "\($0[0].lowercased()): \($0[1])" }.filter { line in
            !own.contains { line.hasPrefix($0 + ":") }
        }
        return ([method + " " + target] + lines.sorted() + [String(decoding: body, as: UTF8.self)])
            .joined(separator: "\n")
    }

    private static func replacing(_ mark: [UInt8], with text: [UInt8], in bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = bytes[...]
        while let found = rest.firstRange(of: mark) {
            result += rest[..<found.lowerBound] + text
            rest = rest[found.upperBound...]
        }
        return result + rest
    }
}

extension CurlCase {
    /// Whether the client is not to send the body of its n-th request, which says that it has one.
    fileprivate func refusesBody(of number: Int) -> Bool {
        expect.requests.indices.contains(number) && !expect.requests[number].isBodySent
    }
}
