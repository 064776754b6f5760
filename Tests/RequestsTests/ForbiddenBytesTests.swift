import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example
private let controls = (Array(UInt8(0)..<0x20) + [0x7F]).map { String(Unicode.Scalar($0)) }

@Suite("Bytes that are not allowed on the wire")
struct ForbiddenBytesTests {
    /// Every public way to set a field.
    private static let setters:
        [@Sendable (Request<AnonymousRequestProvider, Void>, Field) -> Request<AnonymousRequestProvider, Void>] = [
            { $0.adding(headerField: $1) }, { $0.setting(headerField: $1) }, { $0.with(header: [$1]) },
            { $0.with(header: Header([$1])) }, { $0.adding(headerFields: $1, $1) }, { $0.adding(headerFields: [$1]) },
            { request, field in
                var copy = request
                copy.header[field.name] = field.value
                return copy
            },
            { request, field in request.authenticated(with: AuthenticationProvider { $0.add(field) }) },
            { request, field in
                request.using(method: .put).sending(
                    BodyProvider { header in
                        header.add(field)
                        return .bytes(Data())
                    })
            },
        ]

    @Test(
        "a control character in a field name or value is a typed error with every setter", .rows("R-1"),
        arguments: setters.indices)
    func fields(setter: Int) throws {
        let set = Self.setters[setter]
        let request = api.head("/x")
        for control in controls {
            for text in ["a\(control)b", control, "\(control)a", "a\(control)", "a\(control) X: y"] {
                expectInvalid(.invalidFieldName, text.debugDescription) {
                    try set(request, Field(name: Field.Name(text), value: "v")).prepared()
                }
                if control == "\t" { continue }
                expectInvalid(.invalidFieldValue, text.debugDescription) {
                    try set(request, Field(name: "X", value: text)).prepared()
                }
            }
        }
        #expect(throws: Never.self) { try set(request, Field(name: "X", value: "a\tb é")).prepared() }
    }

    @Test(
        "a field name that is not a token is rejected", .rows("R-1"),
        arguments: ["", " ", "a b", "a:", ":", "é", "a(", "a\"", "Authorization ", "a/b", "a=b"])
    func names(name: String) {
        expectInvalid(.invalidFieldName) {
            try api.head("/x").adding(headerField: Field(name: Field.Name(name), value: "v")).prepared()
        }
    }

    @Test("each byte of a field name is checked, whatever the length of the name", .rows("R-1"))
    func bytesOfNames() {
        for length in 1...20 {
            for place in 0..<length {
                for scalar in UInt8.min...UInt8.max {
                    var scalars = Array("Accept-Long-Headers-".unicodeScalars.prefix(length))
                    scalars[place] = Unicode.Scalar(scalar)
                    let name = String(String.UnicodeScalarView(scalars))
                    #expect(Field.Name(name).isValid == Token.isTokenByte(scalar), "\(name.debugDescription)")
                }
            }
        }
    }

    @Test("a method that is not a token is rejected, and a token is kept byte by byte", .rows("R-2", "RQ-20"))
    func methods() throws {
        let texts = controls.flatMap { ["GET\($0)", "\($0)GET", $0] }
        for text in texts + ["", "GET /x HTTP/1.1\r\nX: y", "G T", "GÉT", "GET:", "a/b"] {
            expectInvalid(.invalidMethod, text.debugDescription) {
                try api.head("/x").using(method: HTTPMethod(text)).prepared()
            }
        }
        for text in ["get", "PURGE", "M-SEARCH", "!#$%&'*+-.^_`|~09"] {
            #expect(try api.head("/x").using(method: HTTPMethod(text)).prepared().method.rawValue == text)
        }
        expectInvalid(.unsupportedMethod) { try api.head("/x").using(method: .connect).prepared() }
    }

    @Test("control characters in a path or query are rejected or percent-encoded", .rows("R-2"))
    func targets() throws {
        for control in controls {
            let path = "/a" + control
            expectInvalid(.controlCharacterInPath, control.debugDescription) {
                try api.head(RequestPath(path)).prepared()
            }
            expectInvalid(.controlCharacterInPath) { try api.head("/\(raw: control)").prepared() }
            let target = try api.head("/\(control)").adding(queryItem: (control, control)).prepared().target
            #expect(target.requestTarget.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(target)")
        }
    }

    @Test("a request that changes after it was prepared is checked again before it is written", .rows("R-1", "R-2"))
    func changedLater() throws {
        let good = try api.head("/x").prepared()
        var bad = good
        bad.header.add(Field(name: "X", value: "a\r\nb"))
        var worse = good
        worse.method = "GET /\r\n"
        for request in [bad, worse] {
            #expect(throws: RequestError.self) { try RequestHeadWriter.head(of: request, framing: .none) }
            #expect(!request.wireText(secrets: .redacted).contains("\r"))
            #expect(request.wireText.split(separator: "\n").count == 2 + request.header.count)
        }
    }

    @Test("GET, HEAD and TRACE reject every kind of body", arguments: [HTTPMethod.get, .head, .trace])
    func bodies(method: HTTPMethod) {
        let bodies: [RequestBody] = [
            .bytes(Data()), .file(path: "/x"), .stream { AsyncStream<Data> { $0.finish() } },
        ]
        for body in bodies {
            expectInvalid(.bodyNotAllowed) {
                try api.head("/x").using(method: method).sending(.raw(body: body)).prepared()
            }
        }
    }

    @Test(
        "TE: trailers is kept for HTTP/2, and not written in HTTP/1.1", .rows("H-48"),
        arguments: ["trailers", "Trailers"])
    func trailers(value: String) throws {
        for setter in Self.setters {
            let prepared = try setter(api.post(.text("12345"), to: "/x"), Field(name: "te", value: value)).prepared()
            #expect(prepared.header[.te]?.hasSuffix(value) == true)
            #expect(!prepared.wireText.contains("\nTE"))
        }
    }

    @Test(
        "framing fields that the caller sets are dropped", .rows("R-3"),
        arguments: [
            "Content-Length", "content-length", "Transfer-Encoding", "TRANSFER-ENCODING", "Host", "Connection",
            "Expect", "EXPECT", "expect", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade",
        ])
    func framing(name: String) throws {
        let field = Field(name: Field.Name(name), value: "3")
        for setter in Self.setters {
            let prepared = try setter(api.post(.text("12345"), to: "/x"), field).prepared()
            #expect(!prepared.header.contains(field.name))
        }
        var prepared = try api.post(.text("12345"), to: "/x").prepared()
        prepared.header.add(field)
        #expect(
            prepared.wireText == """
                POST /api/x HTTP/1.1
                Host: e.com
                Content-Type: text/plain; charset=utf-8
                Content-Length: 5

                12345
                """)
    }
}
