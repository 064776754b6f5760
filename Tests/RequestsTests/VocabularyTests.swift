import Requests
import TestSupport
import Testing

@Suite("Vocabulary")
struct VocabularyTests {
    /// The IANA HTTP Method Registry, by whether the methods are safe and idempotent.
    private static let registry: [(isSafe: Bool, isIdempotent: Bool, methods: String)] = [
        (true, true, "GET HEAD OPTIONS PRI PROPFIND QUERY REPORT SEARCH TRACE"),
        (
            false, true,
            """
            ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY DELETE LABEL LINK MERGE MKACTIVITY MKCALENDAR MKCOL \
            MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PROPPATCH PUT REBIND UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE \
            UPDATEREDIRECTREF VERSION-CONTROL
            """
        ),
        (false, false, "* CONNECT LOCK PATCH POST"),
    ]

    @Test("a method is safe and idempotent as its registration says, and neither without one", .rows("PM-24", "C30"))
    func idempotence() {
        var count = 0
        for row in Self.registry {
            for name in row.methods.split(separator: " ") {
                let method = HTTPMethod(String(name))
                #expect(method.isSafe == row.isSafe && method.isIdempotent == row.isIdempotent, "\(name)")
                // Methods are case-sensitive (RFC 9110 §9.1).
                #expect(!HTTPMethod(name.lowercased()).isIdempotent, "\(name)")
                count += 1
            }
        }
        #expect(count == 41)
        for method in ["PURGE", "GET ", "UNLOC\u{212A}", ""] as [HTTPMethod] {
            #expect(!method.isSafe && !method.isIdempotent, "\(method)")
        }
    }

    @Test(
        "a status without a registered phrase has the phrase of its class", .rows("HT-35", "L15"),
        arguments: [
            (HTTPStatus(299), "299 Success"), (520, "520 Server Error"), (418, "418 Client Error"),
            (404, "404 Not Found"), (103, "103 Early Hints"), (399, "399 Redirection"), (199, "199 Informational"),
            (999, "999 Unknown"), (0, "0 Unknown"), (-1, "-1 Unknown"),
        ])
    func statuses(status: HTTPStatus, description: String) {
        #expect(status.description == description)
    }

    @Test("a registered status has a name, and any other number is a status too", .rows("HT-35"))
    func names() {
        #expect(HTTPStatus.ok == 200 && HTTPStatus.earlyHints == 103 && HTTPStatus.notFound == 404)
        let classes: Set<String> = [
            "Informational", "Success", "Redirection", "Client Error", "Server Error", "Unknown",
        ]
        #expect((0...999).count { !classes.contains(HTTPStatus($0).reasonPhrase) } == 60)
        #expect(HTTPStatus(299).isSuccess && HTTPStatus(520).isServerError && HTTPStatus(299) != .ok)
    }

    @Test(
        "a status code belongs to at most one class, and 1xx, 204 and 304 do not allow a body", .rows("HT-35"),
        arguments: 0...700)
    func classes(code: Int) {
        let status = HTTPStatus(code)
        let classes = [
            status.isInformational, status.isSuccess, status.isRedirection, status.isClientError, status.isServerError,
        ]
        #expect(classes.filter { $0 }.count == (100..<600 ~= code ? 1 : 0))
        #expect(status.forbidsBody == (100..<200 ~= code || code == 204 || code == 304))
    }

    @Test("booleans in a query are written as true and false", .rows("C5", "PM-42"))
    func booleans() {
        #expect((["a": true, "b": false, "c": 1, "d": 2.5] as QueryItems).encoded() == "a=true&b=false&c=1&d=2.5")
    }

    @Test("a URL can be written as a literal", .rows("RQ-33"))
    func urlLiteral() throws {
        #expect(try #require(URL(string: "https://dev.example.com/api")) == URL("https://dev.example.com/api"))
    }

    @Test("a request can have both a query and a JSON body", .rows("D-19"))
    func queryAndBody() throws {
        let request = Request(method: .post, baseURL: URL("https://e.com/items")).sending(.json(["n": 1]))
        let text = try request.with(query: ["dry": true]).prepared().wireText
        #expect(text.hasPrefix("POST /items?dry=true HTTP/1.1\n"))
        #expect(text.hasSuffix("\n\n{\"n\":1}"))
    }
}
