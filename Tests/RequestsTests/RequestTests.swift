import Requests
import TestSupport
import Testing

private enum Tag: RequestAttributes.Key { typealias Value = String }

private typealias Built = Request<AnonymousRequestProvider, Void>

/// A change to a request, and a check that the request has it.
private struct Change: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let apply: @Sendable (Built) -> Built
    let holds: @Sendable (Built) throws -> Bool

    init(
        _ name: String, _ apply: @escaping @Sendable (Built) -> Built,
        _ holds: @escaping @Sendable (Built) throws -> Bool
    ) {
        testDescription = name
        self.apply = apply
        self.holds = holds
    }

    static let all = [
        Change("endpoint", { $0.with(endpoint: "/other") }, { $0.endpoint == "/other" }),
        Change("method", { $0.using(method: .patch) }, { $0.method == .patch }),
        Change("field", { $0.adding(headerField: Field(name: "X-A", value: "1")) }, { $0.header.contains("X-A") }),
        Change(
            "fields", { $0.adding(headerFields: Field(name: "X-B", value: "1"), Field(name: "X-B", value: "2")) },
            { $0.header.values(of: "X-B").starts(with: ["1", "2"]) }),
        Change("setting", { $0.setting(headerField: Field(name: "X-C", value: "1")) }, { $0.header["X-C"] == "1" }),
        Change("item", { $0.adding(queryItem: ("a", 1)) }, { $0.queryItems.contains { $0.name == "a" } }),
        Change("items", { $0.adding(queryItems: ["b": 1]) }, { $0.queryItems.contains { $0.name == "b" } }),
        Change("cookie", { $0.setting(cookie: "a", to: "1") }, { $0.header[.cookie] == "a=1" }),
        Change(
            "parameters", { $0.adding(parameters: ["p": 1], in: .query) },
            { try $0.using(method: .put).prepared().target.query?.contains("p=1") == true }),
        Change("body", { $0.sending(.text("body")) }, { try isBody($0, "body") }),
        Change(
            "credentials", { $0.authenticated(with: .bearerToken("t")) },
            { try $0.using(method: .put).prepared().header[.authorization] == "Bearer t" }),
        Change("timeouts", { $0.timeout(after: .seconds(7)) }, { $0.timeouts.firstByte == .seconds(7) }),
        Change(
            "cache", { $0.with(cachePolicy: .returnCacheDataDontLoad) },
            { $0.cachePolicy == .returnCacheDataDontLoad }),
        Change(
            "validator", { $0.validating(.none) },
            { request in
                let head = ResponseHead(status: 500, target: try request.target())
                return (try? request.validator.validate(head, accepting: [], isEmpty: true)) != nil
            }),
        Change("redirects", { $0.with(redirectPolicy: .none) }, { $0.redirectPolicy == .none }),
        Change("attribute", { $0.setting(attribute: Tag.self, to: "v") }, { $0.attributes[Tag.self] == "v" }),
        Change("progress", { $0.onProgress { _ in } }, { $0.progressHandler != nil }),
        Change("decoder", { $0.receiving(.text).receiving(.none) }, { _ in true }),
    ]

    private static func isBody(_ request: Built, _ text: String) throws -> Bool {
        let body = try request.using(method: .put).prepared().body
        guard case .bytes(let data) = body else { return false }
        return data == Data(text.utf8)
    }
}

@Suite("Request")
struct RequestTests {
    private let base = AnonymousRequestProvider.example.head("/x").using(method: .put)

    @Test(
        "builders keep each other's changes, in either order",
        .rows("RQ-12", "RQ-13", "RQ-14", "RQ-15", "RQ-16", "T-12", "HT-9"),
        arguments: Change.all, Change.all)
    private func pairs(first: Change, second: Change) throws {
        #expect(try first.holds(first.apply(base)), "\(first.testDescription) has no effect")
        let both = second.apply(first.apply(base))
        #expect(try first.holds(both))
        #expect(try second.holds(both))
    }

    @Test("no change is present without its builder", arguments: Change.all.dropLast())
    private func control(change: Change) throws {
        #expect(try !change.holds(base))
    }

    @Test("credentials set before or after a change of decoder are kept", .rows("RQ-16", "T-12"))
    func receivingKeepsCredentials() throws {
        let api = AnonymousRequestProvider.example
        let before = api.head("/x").authenticated(with: .bearerToken("t")).receiving(.json([Int].self))
        let after = api.head("/x").receiving(.json([Int].self)).authenticated(with: .bearerToken("t"))
        for request in [before, after] { #expect(try request.prepared().header[.authorization] == "Bearer t") }
    }

    @Test(
        "setting replaces one name, with replaces everything, and adding appends",
        .rows("RQ-13", "RQ-14", "PM-28", "HT-7", "HT-9")
    )
    func replacing() {
        let request = base.with(header: [Field(name: "A", value: "1")]).adding(
            headerField: Field(name: "a", value: "2"))
        #expect(request.header[.init("a")] == "1,2")
        #expect(request.setting(headerField: Field(name: "a", value: "3")).header["A"] == "3")
        #expect(request.with(header: [.accept(.json)]).header == [.accept(.json)])
        #expect(request.adding(queryItem: ("q", 1)).with(query: ["r": 2]).queryItems == ["r": 2])
        #expect(request.adding(headerFields: [.accept(.json)]).header.count == 3)
        let changed = request.setting(cookie: "c", to: "1").adding(parameters: ["p": 1], in: .query)
        #expect(changed.header[.cookie] == "c=1" && changed.parameterSets.count == 1)
        #expect(request.header.count == 2 && request.parameterSets.isEmpty)
        #expect(base.header.isEmpty && base.queryItems.isEmpty)
    }

    @Test("a request has the fields that are given, and defaults for the others", .rows("HT-7"))
    func fields() throws {
        let api = AnonymousRequestProvider.example
        let plain = Built(api: api, endpoint: .empty, responseDecoder: .none)
        #expect(plain.method == .get && plain.header.isEmpty && plain.queryItems.isEmpty)
        #expect(plain.parameterSets.isEmpty && plain.timeouts == .standard && plain.baseURL == api.baseURL)
        #expect(plain.timeouts.firstByte == .seconds(60) && plain.timeouts.total == nil)
        #expect(try plain.preparedURL() == "https://e.com/api")
        let given = Built(
            api: api, endpoint: "/x", responseDecoder: .none, method: .put, header: [.accept(.json)],
            queryItems: ["q": 1], timeouts: Timeouts(total: .seconds(30)))
        #expect(given.endpoint == "/x" && given.method == .put)
        #expect(given.header == [.accept(.json)])
        #expect(given.queryItems == ["q": 1] && given.timeouts.total == .seconds(30))
    }

    @Test("copies of a request are independent", .rows("RQ-12", "PM-22"))
    func copies() {
        var copy = base
        copy.method = .delete
        copy.header.add(.accept(.json))
        copy.queryItems.add(name: "q", value: 1)
        #expect(base.method == .put && base.header.isEmpty && base.queryItems.isEmpty)
    }

    @Test("a request can be performed any number of times, and a changed copy does not affect it", .rows("PM-22"))
    func reused() async throws {
        let executor = StubExecutor { request in .stub(200, "\(request.method) \(request.body)", to: request) }
        let request = AnonymousRequestProvider.example.post(.text("hello"), to: "/x", receiving: .text)
        for _ in 1...3 {
            #expect(try await executor.perform(request) == "POST 5 bytes")
            var copy = request
            copy.method = .put
            copy.bodyProvider = .text("hi")
            #expect(try await executor.perform(copy) == "PUT 2 bytes")
        }
    }

    @Test(
        "a timeout in seconds sets two limits, and a value that is not a duration sets none", .rows("RQ-15", "C21"),
        arguments: [
            (1.5, Duration.milliseconds(1500)), (0, .zero), (.infinity, nil), (.nan, nil), (-.infinity, nil),
            (1e300, nil),
        ] as [(Double, Duration?)])
    func timeout(seconds: Double, limit: Duration?) {
        let timeouts = base.timeout(after: seconds).timeouts
        #expect(timeouts.firstByte == limit && timeouts.betweenBytes == limit)
        #expect(timeouts.connect == .seconds(10) && timeouts.total == nil)
    }

    @Test("an attribute is stored under its key type, prepared with the request and removed by nil", .rows("PM-30"))
    func attributes() throws {
        enum Other: RequestAttributes.Key { typealias Value = String }
        let request = base.setting(attribute: Tag.self, to: "v")
        #expect(request.attributes[Tag.self] == "v")
        #expect(request.attributes[Other.self] == nil)
        #expect(try request.prepared().attributes[Tag.self] == "v")
        #expect(request.setting(attribute: Tag.self, to: nil).attributes[Tag.self] == nil)
    }
}
