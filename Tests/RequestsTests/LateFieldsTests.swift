import Requests
import Testing

@Suite("Fields that later middleware adds")
struct LateFieldsTests {
    @Test("added and changed fields of every later form count, those of the form itself do not")
    func forms() throws {
        var request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.header["X-Own"] = "1"
        request.header["X-Changed"] = "1"
        request.recordLateFields()
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

    @Test("a form within a form records what comes after it, and the outer one records all")
    func nested() throws {
        let outer = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        outer.recordLateFields()
        var inner = outer
        inner.header["X-Between"] = "1"
        inner.recordLateFields()
        var last = inner
        last.header["X-Late"] = "1"
        #expect(!inner.hasLateField("X-Between") && inner.hasLateField("X-Late"))
        #expect(outer.hasLateField("X-Between") && outer.hasLateField("X-Late"))
    }

    @Test("a field that an executor adds counts, whether the request was changed or not")
    func secrets() throws {
        let request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.recordSecret(Field(name: .proxyAuthorization, value: "Basic a"))
        #expect(!request.hasLateField(.proxyAuthorization))
        request.recordLateFields()
        request.recordSecret(Field(name: .proxyAuthorization, value: "Basic a"))
        #expect(request.hasLateField(.proxyAuthorization))
        let other = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        other.recordLateFields()
        var changed = other
        changed.timeouts.total = .seconds(1)
        changed.recordSecret(Field(name: .proxyAuthorization, value: "Basic a"))
        #expect(other.hasLateField(.proxyAuthorization))
    }

    @Test("a request that is performed without end records a limited number of names, and then all count")
    func limit() throws {
        let request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.recordLateFields()
        for number in 0..<63 {
            var later = request
            later.header[Field.Name("X-\(number)")] = "1"
        }
        #expect(request.hasLateField("X-62") && !request.hasLateField("X-1000"))
        var later = request
        later.header["X-63"] = "1"
        #expect(request.hasLateField("X-1000"))
    }

    @Test("tasks that change one request at the same time record all fields")
    func tasks() async throws {
        for _ in 0..<200 {
            let request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
            request.recordLateFields()
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

    @Test("a body that is streamed or written to a file has no other form")
    func others() throws {
        var request = try PreparedRequest(url: #require(URL(string: "https://e.com/")))
        request.delivery = .streamed
        #expect(request.streamingCollectedBody == nil)
    }
}
