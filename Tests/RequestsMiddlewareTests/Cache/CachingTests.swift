@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import TestSupport
import Testing

@Suite("Caching", .tags(.concurrent), .serialized, .timeLimit(.minutes(10)))
struct CachingTests {
    @Test("a fresh response is used with its age, a stale one is validated, and the status says so")
    func lifecycle() async throws {
        let cache = CacheUnderTest { request in
            if request.header[.ifNoneMatch] == "\"1\"" {
                return MockResponse(status: 304, header: [Field(name: .cacheControl, value: "max-age=30")])
            }
            let fields = [Field(name: .cacheControl, value: "max-age=10"), Field(name: .etag, value: "\"1\"")]
            return MockResponse(header: Header(fields), body: [.bytes(Data("one".utf8))])
        }
        let first = try await cache.send()
        #expect(first.metrics.cacheStatus.map { "\($0)" } == "Requests; fwd=uri-miss; fwd-status=200; ttl=10; stored")
        cache.advance(4)
        let second = try await cache.send()
        #expect(second.header[.age] == "4" && second.text == "one" && second.metrics.transmissions == 0)
        #expect(second.metrics.cacheStatus.map { "\($0)" } == "Requests; hit; ttl=6")
        cache.advance(6)
        let third = try await cache.send()
        #expect(third.status == 200 && third.text == "one" && cache.contacts == 2)
        #expect(third.metrics.cacheStatus.map { "\($0)" } == "Requests; fwd=stale; fwd-status=304; ttl=30; stored")
        cache.advance(29)
        #expect(try await cache.send().isHit && cache.contacts == 2)
    }

    @Test(
        "two users never share a response, whatever field identifies them", .rows("R-41"),
        arguments: [
            "Authorization", "Cookie", "Set-Cookie", "X-API-Key", "X-Amz-Security-Token",
            "X-Auth-Token", "X-CSRF-Token", "x-USER", "Account",
        ])
    func users(name: String) async throws {
        let cache = CacheUnderTest { request in
            let user = request.header[Field.Name(name)] ?? "nobody"
            return MockResponse(header: .caching("max-age=100, public"), body: [.bytes(Data(user.utf8))])
        }
        let users = [[], [Field(name: Field.Name(name), value: "a")], [Field(name: Field.Name(name), value: "b")]]
        for round in 0..<2 {
            for user in users {
                let response = try await cache.send("/", Header(user))
                #expect(response.text == user.first?.value ?? "nobody" && response.isHit == (round == 1))
            }
        }
        // One change makes the responses of all users invalid.
        _ = try await cache.send("/", Header(users[1]), method: .post)
        for user in users { #expect(try await !cache.send("/", Header(user)).isHit) }
    }

    @Test(
        "a response that varies by credentials added behind the cache is validated before each use", .rows("R-41"),
        arguments: ["Authorization", "X-API-Key", "X-Session-Id", "X-Tenant"], [false, true])
    func credentialsBehind(name: String, isOnDisk: Bool) async throws {
        let folder = TemporaryDirectory()
        let store: any CacheStore = isOnDisk ? Caching.DiskStore(folder: folder.path) : Caching.MemoryStore()
        let user = Lock("a")
        let field = Field.Name(name)
        let server = MockExecutor { request in
            let user = request.header[field] ?? "nobody"
            let header: Header = [
                Field(name: .cacheControl, value: "max-age=1000, stale-while-revalidate=1000"),
                Field(name: .etag, value: "\"\(user)\""), Field(name: .vary, value: "accept-encoding, \(name)"),
            ]
            if request.header[.ifNoneMatch] == "\"\(user)\"" { return MockResponse(status: 304, header: header) }
            return MockResponse(header: header, body: [.bytes(Data(user.utf8))])
        }
        let executor = server.intercepting { request, next in
            var request = request
            request.header.set(Field(name: field, value: user.withLock { $0 }))
            request.header.set(Field(name: .acceptEncoding, value: "gzip"))
            return try await next.execute(request)
        }.caching(in: store, partition: .named("users"))
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        for name in ["a", "a", "b", "b", "a"] {
            user.withLock { $0 = name }
            let response = try await executor.execute(request)
            guard case .bytes(let body) = response.body else { return #expect(Bool(false)) }
            #expect(body == Data(name.utf8) && response.metrics.cacheStatus?.isHit == false)
        }
        // Each use was confirmed by the server, or replaced.
        #expect(server.recordedCount == 5)
        let confirmations = server.recordedRequests.map { $0.header[.ifNoneMatch] }
        #expect(confirmations == [nil, "\"a\"", "\"a\"", "\"b\"", "\"b\""])
    }

    @Test(
        "a date does not validate the response for another user, and no policy uses it without validation",
        .rows("R-41"))
    func datesBehind() async throws {
        let user = Lock("a")
        let server = MockExecutor { request in
            let header: Header = [
                Field(name: .cacheControl, value: "max-age=1000"), Field(name: .vary, value: "Authorization"),
                Field(name: .lastModified, value: "Sun, 06 Nov 1994 08:49:37 GMT"),
            ]
            if request.header.contains(.ifModifiedSince) { return MockResponse(status: 304, header: header) }
            return MockResponse(header: header, body: [.bytes(Data((request.header[.authorization] ?? "").utf8))])
        }
        let executor = server.intercepting { request, next in
            var request = request
            request.header.set(Field(name: .authorization, value: user.withLock { $0 }))
            return try await next.execute(request)
        }.caching()
        var request = try PreparedRequest(target: TargetURI("http://e.com/"))
        for policy in [PreparedRequest.CachePolicy.useProtocolCachePolicy, .returnCacheDataElseLoad] {
            request.cachePolicy = policy
            for name in ["a", "b"] {
                user.withLock { $0 = name }
                #expect(try await executor.execute(request).data == Data(name.utf8))
            }
        }
        request.cachePolicy = .returnCacheDataDontLoad
        #expect(try await executor.execute(request).status == 504)
    }

    @Test("a response without a cookie is not used after a cookie was set behind the cache", .rows("R-41"))
    func cookiesBehind() async throws {
        let server = MockExecutor { request in
            let header: Header = [
                Field(name: .cacheControl, value: "max-age=600"), Field(name: .vary, value: "Cookie"),
                Field(name: .setCookie, value: "sid=1"),
            ]
            return MockResponse(header: header, body: [.bytes(Data((request.header[.cookie] ?? "none").utf8))])
        }
        let executor = server.keepingCookies(in: CookieStore()).caching()
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        #expect(try await executor.execute(request).data == Data("none".utf8))
        #expect(try await executor.execute(request).data == Data("sid=1".utf8))
    }

    @Test("a response that has not arrived when all are removed is not stored")
    func removedOnTheWay() async throws {
        let caching = Caching()
        let removes = Lock(true)
        let server = MockExecutor { _ in
            MockResponse(header: .caching("max-age=100"), body: [.bytes(Data("a".utf8))])
        }
        let executor = server.intercepting { request, next in
            let response = try await next.execute(request)
            if removes.withLock(\.self) { await caching.removeAll() }
            return response
        }.intercepted(by: caching)
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        _ = try await executor.execute(request)
        removes.withLock { $0 = false }
        for expected in [2, 2] {
            _ = try await executor.execute(request)
            #expect(server.recordedCount == expected)
        }
    }

    @Test("requests that differ in User-Agent share a response, which Vary could prevent")
    func userAgents() async throws {
        let cache = CacheUnderTest(header: .caching("max-age=100"))
        _ = try await cache.send("/", [.userAgent("first")])
        #expect(try await cache.send("/", [.userAgent("second")]).isHit)
        #expect(try await cache.send().isHit)
    }

    @Test("a field without a secret that middleware behind the cache adds does not prevent a hit")
    func fieldsBehind() async throws {
        let header: Header = [
            Field(name: .cacheControl, value: "max-age=1000"), Field(name: .vary, value: "Accept-Encoding"),
        ]
        let server = MockExecutor { _ in MockResponse(header: header, body: [.bytes(Data("a".utf8))]) }
        let environment = try #require(RequestEnvironment(string: "http://e.com"))
        let executor = server.decodingContent()
            .authenticating(with: FixedCredentials.bearerToken("planted"), within: environment).caching()
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        for _ in 0..<3 { _ = try await executor.execute(request) }
        #expect(server.recordedCount == 1)
    }

    @Test("former credentials that an observer in front has collected do not prevent a hit")
    func formerCredentials() async throws {
        let server = MockExecutor { request in
            guard request.header[.authorization] == "Bearer planted-new" else { return .status(401) }
            let header: Header = [
                Field(name: .cacheControl, value: "max-age=1000"), Field(name: .vary, value: "Authorization"),
            ]
            return MockResponse(header: header, body: [.bytes(Data("a".utf8))])
        }
        let environment = try #require(RequestEnvironment(string: "http://e.com"))
        let authenticator = RefreshableAuthenticator(bearerToken: "planted-old") { _ in "planted-new" }
        let executor = server.caching().authenticating(with: authenticator, within: environment)
            .intercepted(by: HARRecorder())
        let request = try PreparedRequest(target: TargetURI("http://e.com/"))
        for _ in 0..<3 { _ = try await executor.execute(request) }
        #expect(server.recordedCount == 2)
    }

    @Test("caches in one store share responses only if they have the same partition", .rows("R-41"))
    func partitions() async throws {
        let (store, header) = (Caching.MemoryStore(), Header.caching("max-age=100"))
        let first = CacheUnderTest(in: store, header: header)
        let second = CacheUnderTest(in: store, header: header)
        _ = try await first.send()
        #expect(try await !second.send().isHit)
        let user = Lock("a")
        let third = CacheUnderTest(
            in: store, partition: .perRequest { _ in user.withLock { $0.isEmpty ? nil : $0 } }, header: header)
        _ = try await third.send()
        #expect(try await third.send().isHit)
        user.withLock { $0 = "b" }
        #expect(try await third.send().text == "2")
        user.withLock { $0 = "" }
        let response = try await third.send()
        #expect(response.text == "3" && response.metrics.cacheStatus?.forwardReason == .bypass)
        let fourth = CacheUnderTest(in: store, partition: .named("a"), header: header)
        #expect(try await fourth.send().isHit)
    }

    @Test("the responses of a URI are selected by the fields in Vary")
    func vary() async throws {
        let cache = CacheUnderTest { request in
            let language = request.header[.acceptLanguage] ?? "none"
            let fields = [
                Field(name: .cacheControl, value: "max-age=100"), Field(name: .vary, value: "Accept-Language"),
            ]
            return MockResponse(header: Header(fields), body: [.bytes(Data(language.utf8))])
        }
        for isHit in [false, true] {
            for language in ["de", "en", "de, en"] {
                let response = try await cache.send("/", [.acceptLanguage(language)])
                #expect(response.text == language && response.isHit == isHit)
            }
        }
        #expect(try await cache.send("/", [.acceptLanguage("de,en")]).isHit)
        let missing = try await cache.send()
        #expect(missing.text == "none" && missing.metrics.cacheStatus?.forwardReason == .varyMiss)
        _ = try await cache.send(method: .delete)
        #expect(try await !cache.send("/", [.acceptLanguage("de")]).isHit)
    }

    @Test("the cache policy of a request decides about stored responses")
    func policies() async throws {
        let cache = CacheUnderTest(header: .caching("max-age=10"))
        let missing = try await cache.send(policy: .returnCacheDataDontLoad)
        #expect(missing.status == 504 && cache.contacts == 0)
        #expect(try await cache.send("/", .caching("only-if-cached")).status == 504 && cache.contacts == 0)
        _ = try await cache.send()
        #expect(try await cache.send(policy: .reloadIgnoringLocalCacheData).text == "2")
        #expect(try await cache.send(policy: .reloadRevalidatingCacheData).text == "3")
        cache.advance(1_000)
        #expect(try await cache.send(policy: .returnCacheDataElseLoad).text == "3")
        #expect(try await cache.send(policy: .returnCacheDataDontLoad).header[.age] == "1000")
        #expect(try await cache.send().text == "4")
        #expect(try await cache.send(method: .post, policy: .returnCacheDataDontLoad).status == 504)
        #expect(cache.contacts == 4)
    }

    @Test("a stale response is used while it is validated in the background")
    func staleWhileRevalidate() async throws {
        let cache = CacheUnderTest(header: .caching("max-age=10, stale-while-revalidate=50"))
        _ = try await cache.send()
        cache.advance(20)
        let stale = try await cache.send()
        #expect(stale.text == "1" && stale.isHit && stale.metrics.cacheStatus?.timeToLive == -10)
        await cache.finishValidations()
        #expect(try await cache.send().text == "2" && cache.contacts == 2)
        cache.advance(61)
        #expect(try await cache.send().text == "3")
    }

    @Test("a stale response replaces an error if a directive permits it", arguments: [true, false])
    func staleIfError(isLost: Bool) async throws {
        let fails = Lock(false)
        let cache = CacheUnderTest { _ in
            guard fails.withLock({ $0 }) else {
                return MockResponse(
                    header: .caching("max-age=10, stale-if-error=50"), body: [.bytes(Data("old".utf8))])
            }
            if isLost { throw RequestError(.connectionLost) }
            return MockResponse(status: 503)
        }
        _ = try await cache.send()
        fails.withLock { $0 = true }
        cache.advance(20)
        let response = try await cache.send()
        #expect(response.text == "old" && response.metrics.cacheStatus?.forwardReason == .stale)
        cache.advance(41)
        if isLost {
            await #expect(throws: RequestError.self) { try await cache.send() }
        } else {
            #expect(try await cache.send().status == 503)
        }
    }

    @Test("a streamed body is stored when its end was read, and not if it is released before")
    func streams() async throws {
        let body = pattern(300_000)
        let cache = CacheUnderTest { request in
            if request.target.path == "/cut" {
                return MockResponse(
                    header: .caching("max-age=100"),
                    body: [.bytes(Data(body.prefix(100))), .failure(RequestError(.connectionLost))])
            }
            return MockResponse(
                header: .caching("max-age=100"),
                body: [
                    .chunks(count: 30) { index in
                        Data(body[index * 10_000..<(index + 1) * 10_000])
                    }
                ])
        }
        do {
            guard case .stream(let stream) = try await cache.send(delivery: .streamed).body else { return }
            _ = try await stream.next()
        }
        #expect(try await cache.send("/cut", delivery: .streamed).metrics.cacheStatus?.isStored == true)
        let response = try await cache.send(delivery: .streamed)
        #expect(!response.isHit)
        guard case .stream(let stream) = response.body else { return }
        #expect(try await stream.collect() == body)
        let stored = try await cache.send(delivery: .streamed)
        #expect(stored.isHit)
        guard case .stream(let second) = stored.body else { return }
        #expect(try await second.collect() == body)
        guard case .stream(let cut) = try await cache.send("/cut", delivery: .streamed).body else { return }
        await #expect(throws: RequestError.self) { try await cut.collect() }
        #expect(try await !cache.send("/cut", delivery: .streamed).isHit)
    }

    @Test("a byte range is served from a whole response, and a part is never served as the whole")
    func ranges() async throws {
        let cache = CacheUnderTest { request in
            guard request.header.contains(.range) else {
                return MockResponse(header: .caching("max-age=100"), body: [.bytes(Data("0123456789".utf8))])
            }
            var header = Header.caching("max-age=100")
            header.add(Field(name: .contentRange, value: "bytes 0-1/10"))
            return MockResponse(status: 206, header: header, body: [.bytes(Data("01".utf8))])
        }
        #expect(try await cache.send("/", [.range(.bytes(0...1))]).text == "01")
        #expect(try await cache.send().text == "0123456789")
        #expect(try await cache.send("/", [.range(.bytes(2...4))]).data?.startIndex == 0)
        for (range, text, field) in [
            (ByteRange.bytes(2...4), "234", "bytes 2-4/10"), (.from(7), "789", "bytes 7-9/10"),
            (.suffix(2), "89", "bytes 8-9/10"), (.bytes(5...Int.max), "56789", "bytes 5-9/10"),
            (.suffix(Int.max), "0123456789", "bytes 0-9/10"),
        ] {
            let response = try await cache.send("/", [.range(range)])
            #expect(response.isHit && response.status == 206 && response.text == text)
            #expect(response.header[.contentRange] == field)
        }
        #expect(try await !cache.send("/", [.range(.from(10))]).isHit)
        #expect(try await !cache.send("/", [.range(.from(1), .suffix(1))]).isHit)
        #expect(try await cache.send().text == "0123456789")
    }

    @Test("a stored body longer than the limit of the request is an error")
    func limit() async throws {
        let cache = CacheUnderTest { _ in
            MockResponse(header: .caching("max-age=100"), body: [.bytes(pattern(1_000))])
        }
        _ = try await cache.send()
        let error = await #expect(throws: RequestError.self) {
            try await cache.send(delivery: .collected(limit: 999))
        }
        #expect(error?.reason == .tooLarge(limit: 999) && cache.contacts == 1)
    }

    @Test("a cancelled call and one whose deadline has passed do not succeed from the cache")
    func ended() async throws {
        let cache = CacheUnderTest(header: .caching("max-age=100"))
        _ = try await cache.send()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await cache.send()
        }
        await #expect(throws: RequestError.self) { try await task.value }
        var request = try cache.request()
        request.deadline = .now - .seconds(1)
        let late = request
        let error = await #expect(throws: RequestError.self) { try await cache.execute(late) }
        #expect(error?.reason == .timedOut(.total))
    }
}
