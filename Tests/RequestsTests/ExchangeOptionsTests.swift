import Requests
import TestSupport
import Testing

@Suite("Exchange options")
struct ExchangeOptionsTests {
    private let api = AnonymousRequestProvider.example

    @Test("a request sends Expect: 100-continue only if it has content", .rows("R-46"))
    func expecting() throws {
        let upload = api.put(.raw(data: Data([65])), to: "/a").expectingContinue(timeout: .seconds(2))
        let request = try upload.prepared()
        #expect(request.continueTimeout == .seconds(2))
        #expect(request.wireText.contains("\nContent-Length: 1\nExpect: 100-continue\n\n"))
        for request in [
            try api.get(.data, from: "/a").expectingContinue().prepared(),
            try api.put(.raw(data: Data()), to: "/a").expectingContinue().prepared(),
        ] {
            #expect(!request.wireText.contains("Expect"))
        }
        #expect(try api.put(.raw(data: Data([65])), to: "/a").prepared() != request)
    }

    @Test("an Expect, Trailer or Upgrade field that the caller sets is dropped", .rows("R-3", "R-46"))
    func byHand() throws {
        let request = try api.put(.raw(data: Data([65])), to: "/a").adding(
            headerFields: Field(name: .expect, value: "100-continue"), Field(name: .upgrade, value: "h2c"),
            Field(name: .trailer, value: "X"), Field(name: .te, value: "trailers")
        ).prepared()
        for name in ["Expect", "Upgrade", "Trailer", "TE:"] { #expect(!request.wireText.contains(name)) }
    }

    @Test("trailers make any body chunked, and the Trailer field lists their names", .rows("R-14"))
    func trailers() throws {
        let request = try api.put(.raw(data: Data([65])), to: "/a").sending(trailers: [
            Field(name: "X-Sum", value: "1"), Field(name: "X-Two", value: "2"),
        ])
        .prepared()
        #expect(request.wireText.contains("\nTransfer-Encoding: chunked\nTrailer: X-Sum, X-Two\n\n"))
        #expect(!request.wireText.contains("Content-Length"))
        let same = try api.put(.raw(data: Data([65])), to: "/a").sending(trailers: [
            Field(name: "X-Sum", value: "1"), Field(name: "X-Two", value: "2"),
        ])
        .prepared()
        #expect(request == same)
        let made = try api.put(.raw(data: Data([65])), to: "/a").sending(trailers: "X-Sum", "X-Two") { [] }.prepared()
        #expect(request != made)
        #expect(made.trailers?.names == ["X-Sum", "X-Two"])
    }

    @Test(
        "a field that must precede the body, or that is malformed, is not allowed in trailers", .rows("R-1", "R-14"),
        arguments: [
            ("Content-Length", "1", RequestError.InvalidRequest.fieldNotAllowedInTrailers),
            ("transfer-encoding", "chunked", .fieldNotAllowedInTrailers), ("Host", "a", .fieldNotAllowedInTrailers),
            ("Authorization", "a", .fieldNotAllowedInTrailers), ("Cookie", "a", .fieldNotAllowedInTrailers),
            ("Trailer", "X", .fieldNotAllowedInTrailers), ("Range", "bytes=0-1", .fieldNotAllowedInTrailers),
            ("X y", "a", .invalidFieldName), ("", "a", .invalidFieldName), ("X", "a\r\nB: c", .invalidFieldValue),
        ])
    func refused(name: String, value: String, problem: RequestError.InvalidRequest) throws {
        let field = Field(name: Field.Name(name), value: value)
        let upload = api.put(.raw(data: Data([65])), to: "/a")
        let error = #expect(throws: RequestError.self) { try upload.sending(trailers: [field]).prepared() }
        #expect(error?.reason == .invalidRequest(problem))
        guard problem == .fieldNotAllowedInTrailers else { return }
        #expect(throws: RequestError.self) { try upload.sending(trailers: field.name) { [] }.prepared() }
    }

    @Test("trailers require a body", .rows("R-14"))
    func withoutBody() throws {
        let request = api.delete("/a").sending(trailers: [Field(name: "X", value: "1")])
        let error = #expect(throws: RequestError.self) { try request.prepared() }
        #expect(error?.reason == .invalidRequest(.trailersWithoutBody))
    }

    @Test("a redirect keeps trailers if it keeps the body, and drops them for a GET", .rows("R-32"))
    func redirected() throws {
        let request = try api.post(.raw(data: Data([65])), to: "/a").sending(trailers: [Field(name: "X", value: "1")])
            .prepared()
        func next(_ status: HTTPStatus) throws -> PreparedRequest? {
            try RedirectPolicy.standard.request(
                following: request,
                after: ResponseHead(
                    status: status, header: [Field(name: .location, value: "/b")], target: request.target))
        }
        #expect(try next(303)?.trailers == nil)
        #expect(try next(307)?.trailers != nil)
    }

    @Test("a dump of trailers shows their names but not their values", .rows("R-74"))
    func dumped() {
        var text = ""
        dump(PreparedRequest.Trailers([Field(name: "X-Sum", value: "hunter2")]), to: &text)
        #expect(text.contains("X-Sum"))
        #expect(!text.contains("hunter2"))
    }
}
