import RequestsTestServer
import TestCorpora
import TestSupport
import Testing

private let formType = "multipart/form-data; boundary=x"

/// Returns the parts of `body`, read in pieces of `size` bytes.
private func parts(
    _ body: [UInt8], _ contentType: String = formType, size: Int = .max,
    _ limits: TestServer.MultipartReader.Limits = .init()
) throws(TestServer.MultipartError) -> [TestServer.MultipartPart] {
    var reader = try TestServer.MultipartReader(contentType: contentType, limits: limits)
    var parts: [TestServer.MultipartPart] = []
    var remainder = body[...]
    while !remainder.isEmpty {
        for event in try reader.read(remainder.prefix(size)) {
            switch event {
            case .part(let header): parts.append(TestServer.MultipartPart(header: header))
            case .data(let data): parts[parts.count - 1].body.append(data)
            }
        }
        remainder = remainder.dropFirst(size)
    }
    try reader.finish()
    return parts
}

private func parts(_ body: String, size: Int = .max) throws(TestServer.MultipartError) -> [TestServer.MultipartPart] {
    try parts(Array(body.utf8), size: size)
}

@Suite("Test server: multipart bodies", .serialized, .timeLimit(.minutes(10)))
struct MultipartReaderTests {
    @Test("parts are the same in pieces of any size", .rows("PM-131"), arguments: [1, 2, 3, 7, 64, .max])
    func pieces(size: Int) throws {
        let read = try parts(
            "preamble --x\r\n--x \t\r\nA: 1\r\nB:  2 \r\n\r\none\r\n-x\r\n--xy\r\n--x\r\n\r\n\r\n--x\r\n\r\n\r\r\n--x--tail\r\n--x",
            size: size)
        #expect(read.map(\.body) == ["one\r\n-x\r\n--xy", "", "\r"].map { Data($0.utf8) })
        #expect(read.map { $0.header.count } == [2, 0, 0])
        #expect(read[0].header["b"] == "2")
    }

    @Test(
        "a part can end after its header, and a folded field is one value", .rows("PM-131"), arguments: [1, 2, 5, .max])
    func emptyParts(size: Int) throws {
        let read = try parts("--x\r\nA: 1\r\n\r\n--x\r\n\r\n--x\r\nA: 2\r\n\r\n--xy\r\n--x\r\n\r\n--x--", size: size)
        #expect(read.map { $0.header["a"] } == ["1", nil, "2", nil])
        #expect(read.map(\.body) == ["", "", "--xy", ""].map { Data($0.utf8) })
        let folded = try parts(
            "--x\r\nContent-Disposition: form-data;\r\n\tname=\"a\"; \r\n  filename=b\r\nB:\r\n c\r\n\r\nd\r\n--x--",
            size: size)
        #expect(folded.map(\.name) == ["a"] && folded.map(\.filename) == ["b"])
        #expect(folded[0].header["b"] == "c" && folded[0].header.count == 2)
    }

    @Test(
        "each problem has its own error", .rows("PM-131"),
        arguments: [
            ("text/plain; boundary=x", "", .notMultipart), ("", "", .notMultipart),
            ("multipart/form-data", "", .missingBoundary),
            ("multipart/form-data; boundary=\"a\u{e9}\"", "", .invalidBoundary),
            ("multipart/form-data; boundary=\(String(repeating: "b", count: 71))", "", .invalidBoundary),
            (formType, "", .missingFirstDelimiter), (formType, "--y\r\n\r\n--y--", .missingFirstDelimiter),
            (formType, "--x\r\nno colon\r\n\r\n\r\n--x--", .invalidHeader),
            (formType, "--x\r\nA : 1\r\n\r\n\r\n--x--", .invalidHeader),
            (formType, "--x\r\n A: 1\r\n\r\n\r\n--x--", .invalidHeader),
            (formType, "--x\r\nA: 1\n2\r\n\r\n\r\n--x--", .invalidHeader),
            (formType, "--x\r\nA: 1\r\n --x--\r\n\r\n", .incomplete),
            (formType, "--x\r\nA: 1\r\n", .incomplete), (formType, "--x\r\n\r\ntext\r\n--x", .incomplete),
            (formType, "--x\r\n\r\ntext\r\n--x\r\n\r\n", .incomplete),
        ] as [(String, String, TestServer.MultipartError)])
    func errors(type: String, body: String, error: TestServer.MultipartError) {
        #expect(throws: error) { try parts(Array(body.utf8), type) }
        #expect(throws: error) { try parts(Array(body.utf8), type, size: 1) }
    }

    @Test("the message of each error says what is wrong", .rows("PM-131"))
    func messages() {
        let errors: [TestServer.MultipartError] = [
            .notMultipart, .missingBoundary, .invalidBoundary, .missingFirstDelimiter, .invalidHeader,
            .tooLarge("more than 2 parts"), .incomplete,
        ]
        #expect(
            errors.map(\.description) == [
                "the Content-Type is missing or is not a multipart type",
                "the Content-Type has no boundary (RFC 2046 §5.1.1)",
                "the boundary is not one to 70 permitted characters (RFC 2046 §5.1.1)",
                "the body does not contain the boundary", "the header of a part is malformed",
                "the body has more than 2 parts", "the body ends before the last delimiter",
            ])
    }

    @Test(
        "parts, headers and contents over a limit are refused, and stay refused", .rows("PM-131"), arguments: [1, .max])
    func limits(size: Int) throws {
        var limits = TestServer.MultipartReader.Limits()
        limits.headerBytes = 8
        limits.partBytes = 4
        limits.parts = 2
        let part = "--x\r\nA: 1\r\n\r\n1234\r\n"
        _ = try parts(Array("\(part)\(part)--x--".utf8), size: size, limits)
        for body in [part + part + part + "--x--", "--x\r\nA: 123456\r\n\r\n\r\n--x--", "--x\r\n\r\n12345\r\n--x--"] {
            do {
                _ = try parts(Array(body.utf8), size: size, limits)
                Issue.record("not refused: \(body)")
            } catch {
                guard case .tooLarge = error else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
        var reader = try TestServer.MultipartReader(contentType: formType, limits: limits)
        for _ in 0..<2 {
            #expect(throws: TestServer.MultipartError.self) { try reader.read("--x\r\nno colon\r\n\r\n".utf8) }
        }
        #expect(throws: TestServer.MultipartError.invalidHeader) { try reader.finish() }
    }

    @Test("an endless header or preamble needs no more memory than its limit", .rows("PM-131"))
    func endless() throws {
        var reader = try TestServer.MultipartReader(contentType: formType)
        let block = [UInt8](repeating: 0x0D, count: 64 << 10)
        for _ in 0..<8 {
            let events = try reader.read(block)
            #expect(events.isEmpty)
        }
        _ = try reader.read("\r\n--x\r\n".utf8)
        #expect(throws: TestServer.MultipartError.self) { try reader.read(block) }
    }

    @Test(
        "bodies of other implementations are read", .rows("PM-131"),
        .enabled(if: Corpora.arePresent, "the folder of corpora is missing"))
    func corpus() throws {
        let cases = try #require(Corpora.load("multipart.json", as: MultipartCases.self)).serialize
        #expect(!cases.isEmpty)
        for test in cases {
            let type = "multipart/form-data; boundary=\"\(test.boundary)\""
            for size in [1, Int.max] {
                let read = try parts(Array(test.bodyB64), type, size: size)
                #expect(read.count == test.parts.count, "\(test.name)")
                for (part, expected) in zip(read, test.parts) {
                    guard let content = expected.contentB64 else { continue }
                    #expect(part.body == content, "\(test.name)")
                }
            }
        }
    }
}

private struct MultipartCases: Decodable {
    struct Case: Decodable {
        struct Part: Decodable {
            var contentB64: Data?
        }

        var name: String
        var boundary: String
        var bodyB64: Data
        var parts: [Part]
    }

    var serialize: [Case]
}
