import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite("Requests that are not sent", .timeLimit(.minutes(10)))
struct RefusalTests {
    @Test(
        "a control character in a field name or value is an error, and no connection is opened", .rows("R-1"),
        arguments: ["\r", "\n", "\0", "\u{7F}", "\u{1}", "\r\n X: 1"])
    func controlBytes(text: String) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.waitForEnd() }
        let executor = SocketExecutor()
        for field in [Field(name: Field.Name("X-\(text)"), value: "1"), Field(name: "X-One", value: "a\(text)b")] {
            let error = await executor.failure(of: try peer.request(header: [field]))
            guard case .invalidRequest = error?.reason else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(error?.mayHaveReachedServer == false)
            #expect(error?.request != nil)
        }
        #expect(peer.connections == 0)
    }

    @Test(
        "a method that is not a token, or CONNECT, is an error", .rows("R-2"),
        arguments: ["", "GET ", "GET /x HTTP/1.1\r\nX: ", "G\u{0}T", "CONNECT"])
    func method(text: String) async throws {
        let peer = try ScriptedPeer { line, _, _ in line.waitForEnd() }
        let error = await SocketExecutor().failure(of: try peer.request(HTTPMethod(text)))
        #expect(error?.mayHaveReachedServer == false)
        #expect(peer.connections == 0)
    }

    @Test("framing fields of the request are not sent", .rows("R-3"))
    func framingFields() async throws {
        let peer = try ScriptedPeer { line, _, peer in
            if let request = line.receiveRequest(bodyLength: 5) { peer.note(request) }
            line.send(ok)
        }
        let header: Header = [
            Field(name: "Content-Length", value: "3"), Field(name: "Transfer-Encoding", value: "chunked"),
            Field(name: "Host", value: "evil"), Field(name: "Connection", value: "close"),
        ]
        let request = try peer.request(.post, header: header, body: .bytes(Data("hello".utf8)))
        _ = try await SocketExecutor().execute(request)
        #expect(
            peer.notes == [
                "POST / HTTP/1.1\r\nHost: \(peer.authority)\r\nAccept-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello"
            ])
    }

    @Test(
        "Host is first and derived from the URL, with brackets, without zone and default port", .rows("R-4"),
        arguments: [
            ("http://[fe80::1%25lo]:8080/", "[fe80::1]:8080"), ("http://[::1]/", "[::1]"),
            ("http://EXAMPLE.com:80/", "example.com"), ("http://user:pass@a.example/", "a.example"),
        ])
    func host(url: String, host: String) async throws {
        let path = "@\(uniqueName())"
        let peer = try ScriptedPeer(on: SocketAddress(unixPath: path)) { line, _, peer in
            if let request = line.receiveRequest() { peer.note(request) }
            line.send(ok)
        }
        let request = PreparedRequest(target: try TargetURI(url))
        _ = try await SocketExecutor(.unix(path: path)).execute(request)
        #expect(peer.notes.first?.hasPrefix("GET / HTTP/1.1\r\nHost: \(host)\r\n") == true)
    }

    @Test("the error of a URL with another scheme names those that are supported")
    func scheme() async throws {
        for executor in [SocketExecutor(), SocketExecutor(.unix(path: "/nowhere"))] {
            let error = await executor.failure(of: PreparedRequest(target: try TargetURI("ftp://127.0.0.1/")))
            #expect(error?.reason == .unsupportedScheme)
            #expect(error?.detail == "“ftp”; SocketExecutor supports http and https")
            #expect(error?.mayHaveReachedServer == false)
        }
    }

    @Test("a redirect over a unix socket is followed within its origin only")
    func redirects() async throws {
        let path = "@\(uniqueName())"
        let peer = try ScriptedPeer(on: SocketAddress(unixPath: path)) { line, _, _ in line.respondToAll(ok) }
        let executor = SocketExecutor(.unix(path: path))
        let other = try peer.request().with { $0.redirectedFrom = try? TargetURI("http://other/") }
        #expect(await executor.failure(of: other)?.reason == .unexpectedRedirect)
        let same = try peer.request().with { $0.redirectedFrom = try? TargetURI("http://engine/x") }
        #expect(try await executor.execute(same).text == "ok")
    }

    @Test("an invalid or missing unix socket path is an error", .rows("R-59"))
    func socketPaths() async throws {
        let request = PreparedRequest(target: try TargetURI("http://engine/"))
        for path in ["", String(repeating: "a", count: 108), "/a\0b"] {
            let error = await SocketExecutor(.unix(path: path)).failure(of: request)
            #expect(error?.reason == .invalidRequest(.invalidSocketPath))
            #expect(error?.mayHaveReachedServer == false)
        }
        for path in ["/nowhere/socket", "relative.socket", "/etc/passwd"] {
            let error = await SocketExecutor(.unix(path: path)).failure(of: request)
            #expect(error?.reason == .connectionFailed)
            #expect(error?.underlying is SystemError)
        }
    }

    @Test("a call in a cancelled task sends nothing", .rows("R-67"))
    func cancelledBefore() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let request = try peer.request()
        let task = Task { () -> RequestError? in
            withUnsafeCurrentTask { $0?.cancel() }
            return await SocketExecutor().failure(of: request)
        }
        let error = await task.value
        #expect(error?.isCancellation == true)
        #expect(error?.mayHaveReachedServer == false)
        #expect(peer.connections == 0)
    }

    @Test("a call whose deadline has passed sends nothing", .rows("R-48"))
    func deadlineBefore() async throws {
        let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
        let error = await SocketExecutor().failure(of: try peer.request().with { $0.deadline = .now })
        #expect(error?.reason == .timedOut(.total))
        #expect(error?.mayHaveReachedServer == false)
        #expect(peer.connections == 0)
    }

    @Test("a refused connection is a connection failure, and a name without an address is not found")
    func noConnection() async throws {
        let holder = try Socket.bound(to: .loopback())
        defer { holder.shutDown(.both) }
        let closed = try holder.localAddress()
        let refused = await SocketExecutor().failure(of: PreparedRequest(target: try TargetURI("http://\(closed)/")))
        #expect(refused?.reason == .connectionFailed)
        #expect((refused?.underlying as? SystemError)?.isRefused == true)
        #expect(refused?.mayHaveReachedServer == false)
        let executor = SocketExecutor.with {
            $0.resolver = Resolver { _ throws(ResolverError) in throw .hostNotFound("no such name") }
        }
        let unknown = await executor.failure(of: PreparedRequest(target: try TargetURI("http://unknown.example/")))
        #expect(unknown?.reason == .hostNotFound)
    }
}
