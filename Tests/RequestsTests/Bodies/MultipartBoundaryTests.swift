import Requests
import Synchronization
import TestCorpora
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private func contentType(
    _ boundary: MultipartForm.Boundary, style: MultipartForm.Style = .standard, _ parts: [MultipartForm.Part] = []
) throws -> String {
    let provider = BodyProvider.multipart(parts + [.text("a", name: "b")], boundary: boundary, style: style)
    return try #require(try api.post(provider, to: "/x").prepared().header[.contentType])
}

@Suite("Multipart boundaries")
struct MultipartBoundaryTests {
    @Test("a hundred thousand boundaries are distinct, and none is longer than 70 characters", .rows("R-7", "AF-36"))
    func distinct() throws {
        var seen: Set<String> = []
        for _ in 0..<100_000 {
            seen.insert(try MultipartForm.Boundary.random.drawn(prefix: MultipartForm.Style.standard.boundaryPrefix))
        }
        #expect(seen.count == 100_000)
        #expect(seen.allSatisfy { $0.count <= 70 && $0.hasPrefix("----RequestsFormBoundary") })
        #expect(try contentType(.random).hasPrefix("multipart/form-data; boundary=----RequestsFormBoundary"))
        #expect(try contentType(.random) != contentType(.random))
        // Twice as many digits as AFNetworking's: 128 random bits, as in the other styles.
        let afnetworking = try contentType(.random, style: .afnetworking)
        #expect(afnetworking.contains(/boundary="?Boundary\+[0-9A-F]{32}"?$/))
    }

    @Test("a random boundary that the content contains is drawn again, and a fixed one is rejected", .rows("R-7"))
    func collisions() throws {
        let drawn = Mutex(["first", "second", "third"])
        let boundary = MultipartForm.Boundary.made { drawn.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] } }
        let parts = [MultipartForm.Part.text("a first b", name: "1"), .data(Data("second".utf8), name: "2")]
        #expect(try contentType(boundary, parts) == "multipart/form-data; boundary=third")
        for fixed in ["first", "second"] as [MultipartForm.Boundary] {
            let error = #expect(throws: RequestError.self) { try contentType(fixed, parts) }
            #expect(error?.underlying as? BodyProvider.BodyError == .boundaryInContent)
        }
        let stubborn = MultipartForm.Boundary.made { "first" }
        #expect(throws: RequestError.self) { try contentType(stubborn, parts) }
    }

    @Test("a boundary is found at any position in the content", arguments: 0..<40)
    func searching(offset: Int) throws {
        let filler = String(repeating: "-oundaryB", count: 10)
        let content = filler.prefix(offset) + "--boundary--" + filler.prefix(40 - offset)
        #expect(throws: RequestError.self) { try contentType("boundary--", [.text(String(content), name: "a")]) }
        #expect(try contentType("boundary+-", [.text(String(content), name: "a")]).hasSuffix("\"boundary+-\"") == false)
    }

    @Test("deferred content that contains the boundary is an error while it is sent", .rows("R-7"))
    func deferredCollision() async throws {
        let provider = BodyProvider.multipart([.deferred { [.text("xBx", name: "a")] }], boundary: "B")
        let body = try api.post(provider, to: "/x").prepared().body
        let error = await #expect(throws: RequestError.self) { try await body.collected() }
        #expect(error?.underlying as? BodyProvider.BodyError == .boundaryInContent)
    }

    @Test(
        "an invalid boundary is rejected", .rows("R-7"),
        arguments: ["", "a ", "a\r\nb", "a\"b", "é", "a;b", String(repeating: "a", count: 71)])
    func invalid(text: String) {
        let error = #expect(throws: RequestError.self) { try contentType(MultipartForm.Boundary(text)) }
        #expect(error?.underlying as? BodyProvider.BodyError == .invalidBoundary)
    }

    @Test("a boundary that is not a token is quoted", arguments: ["a b", "a:b", "'()+_,-./:=?"])
    func quoted(text: String) throws {
        #expect(try contentType(MultipartForm.Boundary(text)) == "multipart/form-data; boundary=\"\(text)\"")
    }

    @Test(
        "forms are written as in browsers", .rows("R-7"),
        .enabled(if: Corpora.arePresent, "the case collections are not part of the repository"))
    func corpus() throws {
        for item in try #require(Corpora.multipart).serialize where !item.textValueNewlinesNormalised {
            let parts = item.parts.map { part -> MultipartForm.Part in
                guard let filename = part.filename else { return .text(part.value ?? "", name: part.name) }
                let type = part.contentType.flatMap(MediaType.init) ?? .binary
                let data = part.contentB64.flatMap { Data(base64Encoded: $0) } ?? Data()
                return .data(data, name: part.name, filename: filename, contentType: type)
            }
            let provider = BodyProvider.multipart(
                parts, boundary: MultipartForm.Boundary(item.boundary), style: .browser)
            let body = try api.post(provider, to: "/x").prepared().body
            // Browsers turn every line end in a field name into CR LF; here it is kept.
            // NUL in a name is percent-encoded here; browsers encode only quotes and line ends (Docs/Decisions/0023).
            let hasNUL = item.parts.contains { ($0.name + ($0.filename ?? "")).utf8.contains(0) }
            let expected = try #require(Data(base64Encoded: item.bodyB64)).flatMap { byte in
                hasNUL && byte == 0 ? Array("%00".utf8) : [byte]
            }
            if parts.count == 1, item.parts[0].name.contains(where: \.isNewline) {
                #expect(body.text?.contains(item.parts[0].name) == false)
            } else {
                #expect(body.bytes == Data(expected), "\(item.name)")
            }
        }
    }
}
