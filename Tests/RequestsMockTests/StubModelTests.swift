@_spi(Lock) import Requests
import RequestsMock
import TestCorpora
import TestSupport
import Testing

/// Random stubs and requests, compared with a list that is searched from its end.
@Suite("Random stubs", .notInstrumented("one thread compares values with a model"))
struct StubModelTests {
    private struct Model {
        let method: HTTPMethod?
        let components: [String]
        let stub: MockStub
        let number: Int

        func matches(_ request: PreparedRequest) -> Bool {
            let path = request.target.path.split(separator: "/").map(String.init)
            guard method == nil || method == request.method, path.count == components.count else { return false }
            return zip(components, path).allSatisfy { $0 == ":p" || $0 == $1 || $0 == "%61" && $1 == "a" }
        }
    }

    @Test(
        "after every step, the newest stub that matches responds", .rows("PM-123", "PM-124"),
        arguments: [1, 2, 3, 4] as [UInt64])
    func steps(seed: UInt64) async throws {
        var numbers = SplitMix64(state: seed)
        let mock = MockExecutor(unmatched: .intercepting(status: 599))
        var model: [Model] = []
        let methods: [HTTPMethod?] = [nil, .get, .post]
        for step in 0..<1_000 {
            let count = Int.random(in: 0...3, using: &numbers)
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0:
                let components = (0..<count).map { _ in ["a", "b", ":p", "%61"].randomElement(using: &numbers) ?? "a" }
                let method = methods.randomElement(using: &numbers) ?? nil
                // Doubled and trailing slashes are ignored.
                let end = step % 3 == 0 && !components.isEmpty ? "/" : ""
                let pattern = "/" + components.joined(separator: step % 2 == 0 ? "/" : "//") + end
                let stub = mock.on(method, pattern, respond: .text("\(step)"))
                model.append(Model(method: method, components: components, stub: stub, number: step))
            case 1 where model.count > 20:
                model.remove(at: Int.random(in: 0..<model.count, using: &numbers)).stub.remove()
            default:
                let path = (0..<count).map { _ in ["a", "b", "c"].randomElement(using: &numbers) ?? "a" }
                let target = try TargetURI("http://host.test/" + path.joined(separator: "/"))
                let request = PreparedRequest(method: step % 2 == 0 ? .get : .post, target: target)
                let response = try await mock.execute(request)
                let expected = model.last { $0.matches(request) }
                if let expected {
                    guard case .bytes(let body) = response.body else { continue }
                    #expect(body == Data("\(expected.number)".utf8), "step \(step)")
                } else {
                    #expect(response.head.status == 599, "step \(step)")
                }
            }
        }
    }

    @Test("patterns of random text are accepted or named in the report, and never trap")
    func patterns() async throws {
        var numbers = SplitMix64(state: 5)
        let pieces = [
            "/", "//", ":", "::", "?", "&", "=", "#", "%", "%2", "%2F", "%FF", "http", "://", "[", "]", "@", "a", "é",
            "\u{301}", "\u{200D}", "\u{FE0F}", "\r\n", "\0", " ", "99999999999999999999", "-1", ":name", "..", "{}",
            "\\",
        ]
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...8, using: &numbers)
            let text = (0..<count).map { _ in pieces.randomElement(using: &numbers) ?? "/" }.joined()
            let mock = MockExecutor()
            mock.on(nil, text, respond: .status(204))
            let path = text.unicodeScalars.filter { $0.isASCII && $0.value > 0x20 }
            for url in ["http://host.test/a", "http://host.test/\(String(String.UnicodeScalarView(path)))"] {
                guard let target = try? TargetURI(url) else { continue }
                do throws(RequestError) {
                    #expect(try await mock.execute(PreparedRequest(target: target)).head.status == 204)
                } catch {
                    #expect(error.underlying is MockExecutor.UnmatchedRequest)
                    #expect(!"\(error)".utf8.contains(0x0D) && !"\(error)".utf8.contains(0))
                }
            }
        }
    }

    @Test("a replay uses each entry once, by the bodies of the requests, as a list does", arguments: 1...20)
    func replayModel(seed: UInt64) async throws {
        var random = SplitMix64(state: seed)
        let classes = [
            ["1", "1.0", " 1"], ["{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}"], ["{\"a\":[2],\"b\":1}"], ["[1]"],
            ["text"],
        ]
        let bodies = classes.flatMap(\.self)
        var remaining = (0..<40).map { (number: $0, body: bodies.randomElement(using: &random) ?? "") }
        let entries = remaining.map { number, body in
            HARArchive.Entry(
                startedAt: Date(timeIntervalSince1970: 0), method: .post, url: "https://library.test/api/x",
                requestBody: .init(data: Data(body.utf8)), status: 200, responseHeader: [.contentType(.plainText)],
                responseBody: .init(data: Data("\(number)".utf8)))
        }
        let mock = MockExecutor(replaying: HARArchive(entries: entries))
        while !remaining.isEmpty {
            let body = bodies.randomElement(using: &random) ?? ""
            let equal = classes.first { $0.contains(body) } ?? []
            let index = remaining.firstIndex { equal.contains($0.body) } ?? 0
            let expected = remaining.remove(at: index).number
            let sent = StubbedLibrary.main.post(.raw(data: Data(body.utf8)), to: "/x", receiving: .text)
            #expect(try await mock.perform(sent) == "\(expected)")
        }
        try mock.verify()
    }
}
