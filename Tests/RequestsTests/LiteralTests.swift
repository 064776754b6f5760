import Requests
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

@Suite("Literals of fields and media types")
struct LiteralTests {
    @Test("a dictionary literal makes a header in its order, repeated names included", .rows("RQ-17"))
    func header() {
        let header: Header = ["X-A": "1", .accept: "text/csv", "x-a": "2"]
        #expect(
            header == [
                Field(name: "X-A", value: "1"), Field(name: .accept, value: "text/csv"), Field(name: "x-a", value: "2"),
            ])
        #expect(([:] as Header).isEmpty && Header().isEmpty)
        #expect(api.get(.none, from: "/x").with(header: ["X-A": "b"]).header["x-a"] == "b")
    }

    @Test("a path contains booleans as true and false, as a query does")
    func booleans() throws {
        let request = api.get(.none, from: "/x/\(true)/\(false)/\(3 > 2)").with(query: ["open": true])
        #expect(try request.prepared().target.requestTarget == "/api/x/true/false/true?open=true")
    }

    @Test("a chain that begins with a decoder without its type reads the response and changes its value")
    func chains() async throws {
        let executor = StubExecutor(200, header: [.contentType(.json)], "[1, 2]")
        #expect(try await executor.perform(api.get(.json([Int].self).map { $0.count }, from: "/x")) == 2)
        #expect(try await executor.perform(api.get(.jsonValue.map { $0[1] }, from: "/x")) == 2)
        #expect(try await executor.perform(api.get(.data.map { $0.count }, from: "/x")) == 6)
        let text = api.get(.text.map { $0.utf8.count }, from: "/x").validating(.none)
        #expect(try await executor.perform(text) == 6)
        #expect(try text.prepared().header[.accept] == api.get(.text, from: "/x").prepared().header[.accept])
    }

    @Test("a closure in a closure captures the values of a query")
    func nested() throws {
        let calls: [Call<AnonymousRequestProvider, String>] = (1...2).map { i in
            Call { $0.get(.text, from: "/x").with(query: ["i": i]) }
        }
        #expect(try calls.map { try $0.request(from: api).prepared().target.query } == ["i=1", "i=2"])
    }

    @Test("a string literal makes a media type", .rows("RQ-21"))
    func mediaType() throws {
        let type: MediaType = "text/csv; charset=utf-8; header=present"
        #expect(type.rawValue == "text/csv; charset=utf-8; header=present" && type.parameters["header"] == "present")
        let request = api.post(.raw(data: Data(), contentType: "application/vnd.api+json"), to: "/x")
        #expect(try request.prepared().header[.contentType] == "application/vnd.api+json")
    }

    @Test("a malformed media type literal traps, and the message shows it", .rows("RQ-21"))
    func malformed() async throws {
        let result = try #require(
            await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
                let type: MediaType = "text"
                print(type)
            })
        #if DEBUG
        let output = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(output.contains("malformed media type literal: text"), "\(output)")
        #endif
    }

    @Test("an Authorization field is created from a value or a token", .rows("RQ-18"))
    func authorization() {
        #expect(Field.authorization("Digest a=b") == Field(name: .authorization, value: "Digest a=b"))
        #expect(Field.authorization(bearerToken: "t") == Field(name: .authorization, value: "Bearer t"))
    }

    @Test("setting a cookie does not throw, and preparing the request reports an invalid one", .rows("HT-10"))
    func cookies() throws {
        let call = Call<AnonymousRequestProvider, String> { api in
            api.get(.text, from: "/x").setting(cookie: "a", to: "1").setting(cookie: "b", to: "2")
        }
        #expect(try call.request(from: api).prepared().header == [Field(name: .cookie, value: "a=1; b=2")])
        for (name, value) in [("a b", "1"), ("", "1"), ("a", "1; b=2"), ("a", " 1"), ("a", "1\r\nX: y")] {
            let request = api.get(.text, from: "/x").setting(cookie: name, to: value).setting(cookie: "b", to: "2")
            expectInvalid(.invalidCookie, "\(name)=\(value)") { try request.prepared() }
            expectInvalid(.invalidCookie, "\(name)=\(value)") { try request.receiving(.data).prepared() }
        }
    }

    @Test("a raw response has the status and the header of its head", .rows("HT-34"))
    func rawResponse() throws {
        var response = RawResponse(
            head: ResponseHead(status: 201, header: ["X-A": "1"], target: try TargetURI("https://e.com")),
            body: .bytes(Data()))
        #expect(response.status == 201 && response.header["x-a"] == "1")
        response.status = 202
        response.header["X-A"] = nil
        #expect(response.head.status == 202 && response.head.header.isEmpty)
    }
}
