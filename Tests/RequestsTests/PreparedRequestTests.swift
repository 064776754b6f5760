import Requests
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("PreparedRequest")
struct PreparedRequestTests {
    @Test(
        "the head states the length of the body once", .rows("R-3", "D-5", "D-17", "PM-46"),
        arguments: [
            (HTTPMethod.get, RequestBody.none, ""), (.head, .none, ""), (.delete, .none, ""), (.options, .none, ""),
            ("PURGE", .none, ""), (.post, .none, "Content-Length: 0\n"), (.put, .none, "Content-Length: 0\n"),
            (.patch, .none, "Content-Length: 0\n"), (.delete, .bytes(Data()), "Content-Length: 0\n"),
            (.post, .bytes(Data([65, 66])), "Content-Length: 2\n"),
            (.post, .file(path: "/f", range: 3..<10), "Content-Length: 7\n"), (.post, .file(path: "/f"), ""),
            (.post, .stream { AsyncStream<Data> { $0.finish() } }, "Transfer-Encoding: chunked\n"),
            (.post, .stream(length: 9) { AsyncStream<Data> { $0.finish() } }, "Content-Length: 9\n"),
        ])
    func framing(method: HTTPMethod, body: RequestBody, field: String) throws {
        let request = PreparedRequest(method: method, target: try TargetURI("http://e.com/"), body: body)
        let head = request.wireText.prefix { $0 != "<" }
        #expect(head.hasPrefix("\(method) / HTTP/1.1\nHost: e.com\n\(field)\n"), "\(request.wireText)")
    }

    @Test("preparing evaluates no deferred part, and the wire text does not need its length", .rows("PM-29"))
    func deferred() async throws {
        let count = Mutex(0)
        let part = MultipartForm.Part.deferred {
            count.withLock { $0 += 1 }
            return [.text("x", name: "a")]
        }
        let request = try AnonymousRequestProvider(text: "https://e.com")
            .post(.multipart([part], boundary: "B"), to: "/x")
            .with(options: RequestOptions(requiresContentLength: true)).prepared()
        #expect(request.options.requiresContentLength == true && request.body.knownLength == nil)
        #expect(request.wireText.hasPrefix("POST /x HTTP/1.1\nHost: e.com\n"))
        #expect(count.withLock { $0 } == 0)
        _ = try await request.body.collected()
        #expect(count.withLock { $0 } == 1)
    }

    @Test("the wire text is the request as sent, with secrets redacted unless revealed", .rows("R-8", "R-74", "PM-29"))
    func wireText() throws {
        let request = try AnonymousRequestProvider(text: "https://[::1]:8443/a?token=hunter2")
            .post(.raw(data: Data([0xFF, 0])), to: "/b").adding(queryItem: ("x", "y z"))
            .authenticated(with: .bearerToken("hunter2")).prepared()
        #expect(
            request.wireText == """
                POST /a/b?token=<redacted>&x=y%20z HTTP/1.1
                Host: [::1]:8443
                Content-Type: application/octet-stream
                Authorization: <redacted>
                Content-Length: 2

                <2 bytes>
                """)
        let revealed = request.wireText(secrets: .revealed)
        #expect(revealed.contains("?token=hunter2&") && revealed.contains("Authorization: Bearer hunter2\n"))
        let own = Redaction(also: ["content-type", "X"])
        #expect(request.wireText(secrets: .redacted, redaction: own).contains("&x=<redacted> HTTP"))
        #expect(request.wireText(secrets: .redacted, redaction: own).contains("Content-Type: <redacted>"))
    }

    @Test("the head has the form of RFC 9112, with Host as the first field", .rows("R-4"))
    func bytes() throws {
        let request = PreparedRequest(
            method: "PURGE", target: try TargetURI("http://u:p@[fe80::1%25lo]:80/a?b#c"),
            header: [Field(name: "x-A", value: "é")])
        func head(_ form: RequestHeadWriter.Form, adding additions: [Field] = []) throws -> String {
            let bytes = try RequestHeadWriter.head(
                of: request, framing: .chunked, form: form, adding: additions.map(RequestHeadWriter.Addition.init))
            return String(decoding: bytes, as: UTF8.self)
        }
        let fields = "Host: [fe80::1]\r\nx-A: é\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(try head(.origin) == "PURGE /a?b HTTP/1.1\r\n" + fields)
        #expect(try head(.absolute) == "PURGE http://[fe80::1]/a?b HTTP/1.1\r\n" + fields)
        let added = try head(.origin, adding: [Field(name: "X-a", value: "no"), Field(name: "B", value: "yes")])
        #expect(added.contains("\r\nB: yes\r\n") && !added.contains("no"))
    }

    @Test("a value that is not UTF-8 is sent as the bytes that were given or received", .rows("R-23"))
    func valueBytes() throws {
        let request = PreparedRequest(
            target: try TargetURI("http://e.com/"),
            header: [Field(name: "A", valueBytes: [0x61, 0xE9]), Field(name: "B", valueBytes: Array("é".utf8))])
        let bytes = try RequestHeadWriter.head(of: request, framing: .none)
        #expect(
            Array(bytes) == Array("GET / HTTP/1.1\r\nHost: e.com\r\nA: a".utf8) + [0xE9]
                + Array("\r\nB: é\r\n\r\n".utf8))
        let hostile = PreparedRequest(target: request.target, header: [Field(name: "A", valueBytes: [0xE9, 0x0D])])
        #expect(throws: RequestError.self) { try RequestHeadWriter.head(of: hostile, framing: .none) }
    }

    @Test("equal requests send the same bytes, and streams are never equal")
    func equality() throws {
        let request = try api.post(.text("a"), to: "/x").prepared()
        #expect(try request == api.post(.text("a"), to: "/x").prepared())
        #expect(try request != api.post(.text("b"), to: "/x").prepared())
        #expect(try request != api.put(.text("a"), to: "/x").prepared())
        #expect(try request != api.post(.text("a"), to: "/y").prepared())
        var other = request
        other.body = .stream { AsyncStream<Data> { $0.finish() } }
        #expect(other != other)
    }

    @Test(
        "a request is made from a method and a URL, and a URL that cannot be requested is a typed error", .rows("AF-18")
    )
    func fromURL() throws {
        #expect(try PreparedRequest(url: URL("https://e.com")).url.absoluteString == "https://e.com/")
        let request = try PreparedRequest(method: .put, url: URL("https://e.com/x?y"))
        #expect(request.method == .put && request.target.absoluteString == "https://e.com/x?y")
        expectInvalid(.invalidHost) { try PreparedRequest(url: URL("file:///etc/passwd")) }
        expectInvalid(.malformedURL) { try PreparedRequest(url: URL("mailto:a@e.com")) }
    }
}
