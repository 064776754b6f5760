import Requests
import TestSupport
import Testing

private struct Refused: Error, Equatable {}
private let api = AnonymousRequestProvider.example

@Suite("ResponseValidator")
struct ValidatorTests {
    private func outcome(
        _ validator: ResponseValidator, status: HTTPStatus = 200, type: String? = nil, accepting: [MediaType] = [.json],
        isEmpty: Bool = false
    ) throws -> RequestError.Reason? {
        let made = Header(type.map { [Field(name: .contentType, value: $0)] } ?? [])
        let outcomes = try [made, received(type.map { [$0] } ?? [])].map { header -> RequestError.Reason? in
            let head = ResponseHead(status: status, header: header, target: try TargetURI("http://e.com"))
            do throws(RequestError) {
                try validator.validate(head, accepting: accepting, isEmpty: isEmpty)
                return nil
            } catch {
                #expect(error.response == head)
                return error.reason
            }
        }
        #expect(outcomes[0] == outcomes[1])
        return outcomes[0]
    }

    private func received(_ types: [String]) -> Header {
        var fields: ReceivedFields?
        for type in types { _ = fields.append(name: "content-type".utf8, value: type.utf8) }
        return fields.map { Header($0) } ?? .empty
    }

    @Test("repeated Content-Type fields are validated as one list")
    func repeatedType() throws {
        let header = received(["application/json", "text/html"])
        let head = ResponseHead(status: 200, header: header, target: try TargetURI("http://e.com"))
        #expect(throws: RequestError.self) {
            try ResponseValidator.standard.validate(head, accepting: [.json], isEmpty: false)
        }
    }

    @Test(
        "the standard validator accepts every 2xx and no other status",
        .rows("C11", "C26", "T-72", "PM-68", "AF-50", "HT-23"))
    func statuses() throws {
        for code in 100..<600 {
            let expected: RequestError.Reason? =
                switch code {
                case 200..<300: nil
                case 300..<400: .unexpectedRedirect
                default: .unacceptableStatus
                }
            #expect(try outcome(.standard, status: HTTPStatus(code)) == expected, "\(code)")
            #expect(try outcome(.none, status: HTTPStatus(code)) == nil)
            let range = ResponseValidator.statuses(200..<400)
            #expect(try (outcome(range, status: HTTPStatus(code), type: "text/html") == nil) == (200..<400 ~= code))
            let set = ResponseValidator.statuses([200, 304, 404, 410])
            let isInSet = [200, 304, 404, 410].contains(code)
            let refusal = (300..<400).contains(code) ? RequestError.Reason.unexpectedRedirect : .unacceptableStatus
            #expect(try outcome(set, status: HTTPStatus(code), type: "text/html") == (isInSet ? nil : refusal))
            #expect(try outcome(.statuses([]), status: HTTPStatus(code)) == refusal)
        }
    }

    @Test(
        "content types must suit the decoder; strict validation requires one with a body",
        .rows("C12", "T-72", "PM-66", "AF-50", "AF-51", "HT-23", "D-15"),
        arguments: [
            ("application/json", false, true, true), ("application/json; charset=utf-8", false, true, true),
            ("Application/JSON;charset=x", false, true, true), ("application/json ; a=b", false, true, true),
            ("application/jsonx", false, false, false), ("application/json x", false, false, false),
            ("xapplication/json", false, false, false), ("application", false, false, false),
            ("application-json", false, false, false),
            ("application/hal+json", false, true, true), ("text/html", false, false, false),
            ("text/html", true, true, true), (nil, false, true, false), (nil, true, true, true),
            ("nonsense", false, false, false), ("", false, true, true),
        ] as [(String?, Bool, Bool, Bool)])
    func types(type: String?, isEmpty: Bool, standard: Bool, strict: Bool) throws {
        let expected = [standard, strict].map { $0 ? nil : RequestError.Reason.unexpectedContentType }
        #expect(try outcome(.standard, type: type, isEmpty: isEmpty) == expected[0])
        #expect(try outcome(.strict(), type: type, isEmpty: isEmpty) == expected[1])
        #expect(try outcome(.standard, type: type, accepting: [], isEmpty: isEmpty) == nil)
        #expect(try outcome(.none, type: type, isEmpty: isEmpty) == nil)
    }

    @Test("the error for a content type names it and the accepted types", .rows("C12", "D-15"))
    func namedType() async throws {
        let executor = StubExecutor(200, header: [.contentType(.html)], "<p>")
        let error = await #expect(throws: RequestError.self) {
            try await executor.perform(api.get(.json([Int].self), from: "/x"))
        }
        #expect(error?.detail == "received text/html, expected application/json")
    }

    @Test(
        "the status is validated before the content type, which is ignored if no body is allowed",
        .rows("T-72", "PM-66"))
    func order() throws {
        #expect(try outcome(.standard, status: 404, type: "text/html") == .unacceptableStatus)
        #expect(try outcome(.strict(), status: 404, type: "text/html") == .unacceptableStatus)
        #expect(try outcome(.standard, status: 204, type: "text/html") == nil)
    }

    @Test("a content type within an accepted range is accepted", .rows("PM-66"))
    func ranges() throws {
        let images = [MediaType(type: .image, subtype: .any)]
        #expect(try outcome(.standard, type: "image/png; a=b", accepting: images) == nil)
        #expect(try outcome(.standard, type: "text/html", accepting: images) == .unexpectedContentType)
        #expect(try outcome(.standard, type: "text/html", accepting: [.json, .any]) == nil)
    }

    @Test(
        "a 404 is decoded if its validator accepts it, and is an error otherwise",
        .rows("T-17", "C11", "AF-50", "HT-23"))
    func custom() async throws {
        let executor = StubExecutor(404, header: [.contentType(.json)], "[1]")
        let request = api.get(.json([Int].self), from: "/x")
        #expect(try await executor.perform(request.validating(.none)) == [1])
        let standard = await #expect(throws: RequestError.self) { try await executor.perform(request) }
        #expect(standard?.reason == .unacceptableStatus && standard?.status == 404)
        #expect(standard?.body == Data("[1]".utf8) && standard?.request?.target.path == "/api/x")
        let refusing = request.validating(ResponseValidator { _ in false })
        let refused = await #expect(throws: RequestError.self) { try await executor.perform(refusing) }
        #expect(refused?.reason == .unacceptableStatus)
        let throwing = request.validating(ResponseValidator { _ in throw Refused() })
        let thrown = await #expect(throws: RequestError.self) { try await executor.perform(throwing) }
        #expect(thrown?.underlying as? Refused == Refused() && thrown?.status == 404)
        let accepting = request.validating(ResponseValidator { $0.status == 404 })
        #expect(try await executor.perform(accepting) == [1])
    }
}
