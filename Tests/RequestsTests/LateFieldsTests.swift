import Requests
import Testing

@Suite("Fields that later middleware adds")
struct LateFieldsTests {
    @Test("added and changed fields of every later form count, those of the form itself do not")
    func forms() throws {
        var request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.header["X-Own"] = "1"
        request.header["X-Changed"] = "1"
        request = request.recordingLateFields
        var later = request
        later.header["X-Changed"] = "2"
        var last = later
        last.header["X-Late"] = "1"
        last.header["X-Own"] = nil
        #expect(request.hasLateField("X-Changed") && request.hasLateField("x-late"))
        #expect(!request.hasLateField("X-Own") && !request.hasLateField("X-Other"))
        // Nothing was recorded for the later forms.
        #expect(!later.hasLateField("X-Late"))
    }

    @Test("a nested form records the fields of later forms, and the outer form records all")
    func nested() throws {
        let outer = try PreparedRequest(url: #require(URL(string: "https://e.com/"))).recordingLateFields
        var inner = outer
        inner.header["X-Between"] = "1"
        inner = inner.recordingLateFields
        var last = inner
        last.header["X-Late"] = "1"
        #expect(!inner.hasLateField("X-Between") && inner.hasLateField("X-Late"))
        #expect(outer.hasLateField("X-Between") && outer.hasLateField("X-Late"))
    }

    @Test("a field that an executor adds counts, whether the request was changed or not")
    func secrets() throws {
        var request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.recordSecret(Field(name: .proxyAuthorization, value: "Basic a"))
        #expect(!request.hasLateField(.proxyAuthorization))
        request = request.recordingLateFields
        request.recordSecret(Field(name: .proxyAuthorization, value: "Basic a"))
        #expect(request.hasLateField(.proxyAuthorization))
        let other = try PreparedRequest(url: #require(URL(string: "https://e.com/"))).recordingLateFields
        var changed = other
        changed.timeouts.total = .seconds(1)
        changed.recordSecret(Field(name: .proxyAuthorization, value: "Basic a"))
        #expect(other.hasLateField(.proxyAuthorization))
    }

    @Test("a request that is performed without end records a limited number of names, and then all count")
    func limit() throws {
        let request = try PreparedRequest(url: #require(URL(string: "https://e.com/"))).recordingLateFields
        for number in 0..<63 {
            var later = request
            later.header[Field.Name("X-\(number)")] = "1"
        }
        #expect(request.hasLateField("X-62") && !request.hasLateField("X-1000"))
        var later = request
        later.header["X-63"] = "1"
        #expect(request.hasLateField("X-1000"))
    }

    @Test(
        "changes by the caller of a request do not count, and a request that is changed again and again keeps nothing")
    func callers() throws {
        var request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        for number in 0..<200_000 {
            let sent = request.recordingLateFields
            var later = sent
            later.header["X-Late"] = "1"
            request.header["X-Page"] = "\(number)"
            if number % 50_000 == 0 { #expect(sent.hasLateField("X-Late") && !sent.hasLateField("X-Page")) }
        }
    }

    @Test("tasks that change one request at the same time record all fields")
    func tasks() async throws {
        for _ in 0..<200 {
            let request = try PreparedRequest(url: #require(URL(string: "https://e.com/"))).recordingLateFields
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<4 {
                    group.addTask {
                        var later = request
                        later.header[Field.Name("X-\(number)")] = "1"
                    }
                }
            }
            for number in 0..<4 { #expect(request.hasLateField(Field.Name("X-\(number)"))) }
        }
    }
}

@Suite("Requests whose collected body is streamed")
struct StreamedCollectionTests {
    @Test("the delivery is a stream in every copy, until it is set, and the original is unchanged")
    func delivery() throws {
        let request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        var streamed = try #require(request.streamingCollectedBody)
        #expect(streamed.delivery == .streamed && streamed != request && !streamed.isSame(as: request))
        #expect(request.delivery == .collected(limit: ResponseBody.Delivery.defaultLimit))
        streamed.header["X"] = "1"
        #expect(streamed.delivery == .streamed)
        streamed.delivery = .collected(limit: 7)
        #expect(streamed.delivery == .collected(limit: 7))
    }

    @Test("a request whose body is streamed already has no other form")
    func others() throws {
        var request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.delivery = .streamed
        #expect(request.streamingCollectedBody == nil)
    }
}
