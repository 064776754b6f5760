import RequestsMock
import TestSupport
import Testing

private struct OneChunk: RequestBody.Source {
    var remainder: Data?

    mutating func next() -> Data? { remainder.take() }
}

@Suite("Stubs and bodies", .timeLimit(.minutes(10)))
struct BodyStubTests {
    /// A kind of body, and a provider of one with a text.
    enum Kind: CaseIterable {
        case none, text, raw, json, form, multipart, largeMultipart, multipartFields, file, range, multipartFile
        case stream, streamOfKnownLength, multipartStream, deferredParts

        func body(_ text: String, in folder: TemporaryDirectory) throws -> BodyProvider {
            let chunks = { @Sendable in
                AsyncStream { continuation in
                    for byte in text.utf8 { continuation.yield(Data([byte])) }
                    continuation.finish()
                }
            }
            try folder.write("-\(text)".utf8, to: text)
            let path = folder.path(of: text)
            return switch self {
            case .none: .none
            case .text: .text(text)
            case .raw: .raw(data: Data(text.utf8), contentType: .png)
            case .json: .json(["a": text, "b": "1"])
            case .form: .form(["a": text, "b": "1"])
            case .multipart: .multipart([.text(text, name: "a"), .text("1", name: "b")])
            case .largeMultipart: .multipart([.data(Data(count: 100_000) + Data(text.utf8), name: "a")])
            case .multipartFields: .multipart([], fields: ["a": .string(text), "b": "1"])
            case .file: .raw(body: .file(path: path))
            case .range: .raw(body: .file(path: path, range: 1..<2))
            case .multipartFile: .multipart([.file(at: URL(filePath: path), name: "a", filename: "f")])
            case .stream: .raw(body: .stream { chunks() })
            case .streamOfKnownLength: .raw(body: .stream(length: text.utf8.count) { chunks() })
            case .multipartStream: .multipart([.body(.stream { chunks() }, name: "a")])
            case .deferredParts: .multipart([.deferred { [.text(text, name: "a")] }])
            }
        }
    }

    private struct Upload: Endpoint {
        let body: BodyProvider

        func request(from api: StubbedLibrary) -> Request<StubbedLibrary, String> {
            api.post(body, to: "/upload", receiving: .text)
        }
    }

    /// An API whose values cannot be compared, so that stubs are prepared for each request.
    private struct Incomparable: RequestProviding {
        let baseURL = URL("https://library.test/api")
    }

    private struct OtherUpload: Endpoint {
        let body: BodyProvider

        func request(from api: Incomparable) -> Request<Incomparable, String> {
            api.post(body, to: "/upload", receiving: .text)
        }
    }

    @Test(
        "a stub matches each kind of body with the same content, and none with other content",
        .rows("PM-120", "D-8"), arguments: Kind.allCases)
    func kinds(kind: Kind) async throws {
        let folder = TemporaryDirectory()
        for text in ["x", "y"] {
            let isSame = text == "x" || kind == .none
            let (stubbed, sent) = (try kind.body("x", in: folder), try kind.body(text, in: folder))
            let mock = MockExecutor()
            mock.on(Upload(body: stubbed), return: "found")
            // Middleware that changes the body does not keep the stub from matching.
            let changing = mock.intercepting { request, next in
                var request = request
                request.body = .bytes(Data("compressed".utf8))
                return try await next.execute(request)
            }
            for executor in [mock, changing] as [any RequestExecutor] {
                for _ in 0..<2 {
                    let error = await requestError { try await library(executor).perform(Upload(body: sent)) }
                    #expect((error == nil) == isSame, "\(text): \(error.map { "\($0)" } ?? "")")
                    if let error, text == "y" { #expect("\(error)".contains("body")) }
                }
            }
            let other = MockExecutor()
            other.on(OtherUpload(body: stubbed), return: "found")
            let client = Client(Incomparable(), executor: other)
            #expect((await requestError { try await client.perform(OtherUpload(body: sent)) } == nil) == isSame)
        }
    }

    @Test("a stub for one kind of body does not match another kind", .rows("PM-120"))
    func otherKinds() async throws {
        let folder = TemporaryDirectory()
        let kinds: [Kind] = [.none, .text, .raw, .json, .form, .multipart, .largeMultipart, .stream]
        for stubbed in kinds {
            for sent in kinds {
                let mock = MockExecutor()
                mock.on(Upload(body: try stubbed.body("x", in: folder)), return: "found")
                let body = try sent.body("x", in: folder)
                let error = await requestError { try await library(mock).perform(Upload(body: body)) }
                #expect((error == nil) == (stubbed == sent), "\(stubbed), \(sent)")
            }
        }
    }

    @Test(
        "bodies are compared as a server reads them", .rows("PM-120"),
        arguments: [
            (.json, "{\"a\":1,\"b\":2}", "{\"b\":2.0, \"a\":1e0}", true), (.json, "[1]", "[1.5]", false),
            (.plainText, "1", "1.0", false), (.urlEncodedForm, "a=1&b=2", "b=2&a=1", true),
            (.urlEncodedForm, "a=1&a=2", "a=2&a=1", false), (.urlEncodedForm, "a=x+y", "a=x%20y", true),
            (.urlEncodedForm, "a", "a=", false), (.urlEncodedForm, "a=1", "a=1&a=1", false),
            (.json, "{", "{", true), (.json, "{", "{ ", false),
        ] as [(MediaType, String, String, Bool)])
    func meaning(type: MediaType, stubbed: String, sent: String, isSame: Bool) async throws {
        let mock = MockExecutor()
        mock.on(Upload(body: .raw(data: Data(stubbed.utf8), contentType: type)), return: "found")
        let upload = Upload(body: .raw(data: Data(sent.utf8), contentType: type))
        #expect((await requestError { try await library(mock).perform(upload) } == nil) == isSame)
    }

    @Test("each difference of a multipart form is noticed, and its boundary is ignored", .rows("PM-120"))
    func parts() async throws {
        let json = Data("{\"a\":1,\"b\":2}".utf8)
        let form: [MultipartForm.Part] = [.text("1", name: "a"), .data(json, name: "b", contentType: .json)]
        let others: [[MultipartForm.Part]] = [
            [.text("2", name: "a"), form[1]], [.text("1", name: "c"), form[1]], [form[0]], [form[1], form[0]],
            form + [form[0]], [form[0], .data(json, name: "b", contentType: .plainText)],
            [form[0], .data(json, name: "b", filename: "b", contentType: .json)], [],
        ]
        let equal: [BodyProvider] = [
            .multipart(form), .multipart(form, boundary: "zz-1"), .multipart(form, boundary: "--zz 2"),
            .multipart([form[0], .data(Data("{\"b\":2,\"a\":1}".utf8), name: "b", contentType: .json)]),
        ]
        let mock = MockExecutor()
        mock.on(Upload(body: .multipart(form)), return: "found")
        for body in equal { #expect(try await library(mock).perform(Upload(body: body)) == "found") }
        for parts in others {
            let error = await requestError { try await library(mock).perform(Upload(body: .multipart(parts))) }
            #expect(error?.underlying is MockExecutor.UnmatchedRequest, "\(parts)")
        }
    }

    @Test("a body that can be read once is left to the program, whose body is not compared", .rows("PM-120", "D-8"))
    func once() async throws {
        let mock = MockExecutor()
        let source = RequestBody.oneShot(OneChunk(remainder: Data("abc".utf8)))
        let request = StubbedLibrary.main.post(.raw(body: source), to: "/upload", receiving: .text)
        mock.on(request, return: "found")
        #expect(try await mock.perform(request) == "found")
        #expect(mock.recordedRequests.map { $0.body.inMemory } == [Data("abc".utf8)])
        // A stub with a known body is compared with the bytes that were sent.
        mock.on(Upload(body: .raw(data: Data("abc".utf8))), return: "known")
        for (text, found) in [("abc", "known"), ("abd", "found")] {
            let body = RequestBody.oneShot(OneChunk(remainder: Data(text.utf8)))
            #expect(try await library(mock).perform(Upload(body: .raw(body: body))) == found)
        }
    }

    @Test("a stub whose body cannot be read never matches, and the reports give the reason", .rows("PM-120"))
    func unreadable() async throws {
        let mock = MockExecutor()
        mock.on(Upload(body: .raw(body: .file(path: "/nowhere/file"))), return: "found")
        let error = await requestError { try await library(mock).perform(Upload(body: .text("x"))) }
        #expect("\(try #require(error))".contains("body: cannot be read: "))
        let verification = #expect(throws: MockExecutor.VerificationError.self) { try mock.verify() }
        #expect(verification?.description.contains("it never matches: ") == true)
        #expect(verification?.description.contains("/nowhere/file") == true)
        let failing = MockExecutor()
        failing.on(Upload(body: .multipart([.text("b", name: "a")], boundary: "")), return: "found")
        _ = await requestError { try await library(failing).perform(Upload(body: .text("x"))) }
        let other = #expect(throws: MockExecutor.VerificationError.self) { try failing.verify() }
        #expect(other?.description.contains("it never matches: ") == true)
    }
}
