import Dispatch
import Requests
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider.example

private func prepared(
    _ parts: [MultipartForm.Part], fields: RequestParameters = .empty, boundary: MultipartForm.Boundary = "B",
    style: MultipartForm.Style = .standard
) throws -> PreparedRequest {
    try api.post(.multipart(parts, fields: fields, boundary: boundary, style: style), to: "/x").prepared()
}

private func text(_ parts: [MultipartForm.Part], style: MultipartForm.Style = .standard) async throws -> String? {
    try await prepared(parts, style: style).body.collected().text
}

@Suite("Multipart forms", .tags(.concurrent), .timeLimit(.minutes(10)))
struct MultipartTests {
    @Test("a form with one text part has 116 bytes, and its length is known", .rows("T-42", "PM-48", "PM-49", "AF-38"))
    func oneText() throws {
        let request = try prepared([.text("Hello world", name: "message")])
        #expect(
            request.body.text
                == "--B\r\nContent-Disposition: form-data; name=\"message\"\r\n"
                + "Content-Type: text/plain; charset=utf-8\r\n\r\nHello world\r\n--B--\r\n")
        #expect(request.body.knownLength == 116)
        #expect(request.header[.contentType] == "multipart/form-data; boundary=B")
        #expect(request.wireText.contains("Content-Length: 116\n"))
    }

    @Test("in AFNetworking's style a field has no content type", .rows("T-43", "C23", "AF-37"))
    func afnetworking() throws {
        let request = try prepared([], fields: ["k": "v"], style: .afnetworking)
        #expect(request.body.text == "--B\r\nContent-Disposition: form-data; name=\"k\"\r\n\r\nv\r\n--B--\r\n")
        #expect(request.body.knownLength == 59)
    }

    @Test(
        "fields come first, and then parts in order with their own headers",
        .rows("PM-48", "PM-49", "AF-30", "AF-34", "AF-37", "C23"))
    func order() async throws {
        let parts = [
            MultipartForm.Part.data(Data("d".utf8), name: "data", filename: "f.bin").adding(
                headerField: Field(name: "X-A", value: "1")),
            .part(.bytes(Data("own".utf8)), header: [Field(name: "Content-Disposition", value: "form-data; name=o")]),
            .text("<p>", name: "html", contentType: .html),
        ]
        let request = try prepared(parts, fields: ["a": ["b": [1, nil]], "raw": .data(Data([0x41]))])
        #expect(
            request.body.text
                == """
                --B
                Content-Disposition: form-data; name="a[b]"
                Content-Type: text/plain; charset=utf-8

                1
                --B
                Content-Disposition: form-data; name="a[b]"
                Content-Type: text/plain; charset=utf-8


                --B
                Content-Disposition: form-data; name="raw"
                Content-Type: application/octet-stream

                A
                --B
                Content-Disposition: form-data; name="data"; filename="f.bin"
                Content-Type: application/octet-stream
                X-A: 1

                d
                --B
                Content-Disposition: form-data; name=o

                own
                --B
                Content-Disposition: form-data; name="html"
                Content-Type: text/html; charset=utf-8

                <p>
                --B--

                """.replacing("\n", with: "\r\n"))
    }

    @Test("only quotes and control characters in names are escaped", .rows("T-44", "PM-49", "D-18", "R-1", "R-7"))
    func escaping() throws {
        let evil = "\none\"two\rthree\""
        let request = try prepared([.data(Data(), name: evil, filename: evil + "é%\u{0}")])
        let escaped = "%0Aone%22two%0Dthree%22"
        #expect(
            request.body.text?.contains("name=\"\(escaped)\"; filename=\"\(escaped)é%%00\"\r\nContent-Type") == true)
    }

    @Test("a part's field with a line end, a control character or an invalid name is rejected", .rows("R-1", "R-7"))
    func invalidFields() {
        let fields = [
            Field(name: "X-A", value: "a\r\nX-B: b"), Field(name: "X-A", value: "a\u{0}"),
            Field(name: "X A", value: ""),
            Field(name: "", value: "a"),
        ]
        var parts = fields.map { MultipartForm.Part.text("a", name: "b").adding(headerField: $0) }
        parts += fields.map { MultipartForm.Part.part(.none, header: [$0]) }
        parts.append(.text("a", name: "b", contentType: MediaType(type: "text", subtype: "x\r\nX-B: b")))
        for part in parts {
            let error = #expect(throws: RequestError.self) { try prepared([part]) }
            #expect(
                error?.reason == .bodyEncodingFailed
                    && error?.underlying as? BodyProvider.BodyError == .invalidPartField)
        }
    }

    @Test(
        "a form without parts is the closing delimiter, or nothing in AFNetworking's style",
        .rows("T-45", "T-47", "AF-38", "C23")
    )
    func empty() async throws {
        #expect(try prepared([]).body.text == "--B--\r\n")
        #expect(try await text([.deferred { [] }, .deferred { [] }]) == "--B--\r\n")
        let untouched = try prepared([], style: .afnetworking)
        #expect(untouched.body.isNone && untouched.header[.contentType] == nil)
        #expect(try prepared([.text("", name: "e")]).body.text?.hasSuffix("utf-8\r\n\r\n\r\n--B--\r\n") == true)
    }

    @Test(
        "a form whose length is not a number has no declared length", .rows("R-75"),
        arguments: [[Int.max], [.max - 1], [.max - 60], [.max - 120], [.max / 2, .max / 2], [.max - 200, 100]])
    func overflow(lengths: [Int]) throws {
        let parts = lengths.map { MultipartForm.Part.body(.chunks(["x"], length: $0), name: "s") }
        let whole = lengths.reduce(0) { $0.addingReportingOverflow($1).partialValue }
        let length = try prepared(parts).body.knownLength
        #expect(length == nil || length ?? 0 > whole)
    }

    @Test(
        "every combination of parts has its declared length",
        .rows("T-43", "T-45", "AF-31", "AF-33", "AF-38", "C23", "D-5"))
    func lengths() async throws {
        try await withFile(of: 300_000) { url, content in
            let kinds: [(part: MultipartForm.Part, isCounted: Bool)] = [
                (.text("é", name: "t"), true), (.data(Data(repeating: 1, count: 20_000), name: "d"), true),
                (.file(at: url, name: "f"), true), (.file(at: url, name: "r", range: 5..<6), true),
                (.body(.chunks(["ab", "c"], length: 3), name: "s"), true), (.body(.chunks(["x"]), name: "u"), false),
                (.deferred { [.text("later", name: "l"), .file(at: url, name: "lf")] }, false),
            ]
            for bits in 0..<(1 << kinds.count) {
                let chosen = kinds.indices.filter { bits & (1 << $0) != 0 }.map { kinds[$0] }
                let body = try prepared(chosen.map(\.part)).body
                #expect((body.knownLength != nil) == chosen.allSatisfy(\.isCounted))
                guard bits % 5 == 0 || chosen.count < 3 else { continue }
                let bytes = try #require(try await body.collected().bytes)
                if let length = body.knownLength { #expect(bytes.count == length) }
                #expect(bytes.suffix(7) == Data("--B--\r\n".utf8))
            }
            let whole = try #require(try await prepared([.file(at: url, name: "f")]).body.collected().bytes)
            let head = "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"file.bin\"\r\n"
            let start = Data((head + "Content-Type: application/octet-stream\r\n\r\n").utf8)
            let isFramed = whole == start + content + Data("\r\n--B--\r\n".utf8)
            #expect(isFramed)
        }
    }

    @Test(
        "a file or a stream has the given filename and type; without them, a file's URL determines both",
        .rows("AF-31", "AF-32", "AF-33"))
    func filenames() async throws {
        try await withFile(of: 3) { url, _ in
            let picture = url.deletingLastPathComponent().appending(path: "a.PNG")
            try Data([1]).write(to: picture)
            let parts = [
                MultipartForm.Part.file(at: picture, name: "p"),
                .file(at: url, name: "f", filename: "own.txt", contentType: .gif),
                .body(.chunks(["x"], length: 1), name: "s", filename: "s.bin", contentType: .json),
            ]
            let bytes = try #require(try await prepared(parts).body.collected().bytes)
            let text = String(decoding: bytes, as: UTF8.self)
            for (name, filename, type) in [
                ("p", "a.PNG", "image/png"), ("f", "own.txt", "image/gif"), ("s", "s.bin", "application/json"),
            ] {
                let header = "name=\"\(name)\"; filename=\"\(filename)\"\r\nContent-Type: \(type)\r\n\r\n"
                #expect(text.contains(header), "\(text)")
            }
        }
    }

    @Test("a wrong declared length is an error, even if two wrong lengths cancel out", .rows("AF-33"))
    func wrongLengths() async throws {
        let parts = [
            MultipartForm.Part.body(.chunks(["abc"], length: 2), name: "a"),
            .body(.chunks(["a"], length: 2), name: "b"),
        ]
        let error = await #expect(throws: RequestError.self) { try await text(parts) }
        #expect(error?.underlying as? BodyProvider.BodyError == .wrongLength(expected: 2, found: 3))
    }

    @Test("large content is a chunk of its own, and small content is combined", .rows("PM-51"))
    func pieces() async throws {
        let large = Data(repeating: 7, count: 4 << 20)
        let body = try prepared([.text("a", name: "a"), .data(large, name: "b"), .text("c", name: "c")]).body
        var source = try body.makeSource()
        var sizes: [Int] = []
        while let chunk = try await source.next() { sizes.append(chunk.count) }
        #expect(sizes.count == 3 && sizes[1] == large.count)
        #expect(sizes.reduce(0, +) == body.knownLength)
    }

    @Test(
        "deferred parts keep their position and are made once, however often the form is sent",
        .rows("T-46", "PM-50", "D-14"))
    func deferred() async throws {
        let count = Mutex(0)
        let parts = [
            MultipartForm.Part.text("1", name: "first"),
            .deferred {
                count.withLock { $0 += 1 }
                await Task.yield()
                return [.text("2", name: "second")]
            }, .text("3", name: "third"), .deferred { [.text("4", name: "fourth")] },
        ]
        let provider = BodyProvider.multipart(parts, boundary: "B")
        let request = try api.post(provider, to: "/x").prepared()
        let again = try api.post(provider, to: "/x").prepared()
        #expect(request.body.knownLength == nil && request.body.isReplayable)
        let texts = try await withThrowingTaskGroup { group in
            for body in [request.body, request.body, again.body] {
                group.addTask { try await body.collected().text }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(texts).count == 1)
        let names = texts[0]?.split(separator: "name=\"").dropFirst().map { $0.prefix { $0 != "\"" } }
        #expect(names == ["first", "second", "third", "fourth"])
        #expect(count.withLock { $0 } == 1)
    }

    @Test(
        "an error of a deferred part is not kept for the next call, and a cancelled call does not wait", .rows("PM-50"))
    func deferredErrors() async throws {
        struct Odd: Error {}
        let count = Mutex(0)
        let failing = MultipartForm.Part.deferred {
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { throw Odd() }
            return []
        }
        let body = try prepared([failing]).body
        let error = await #expect(throws: RequestError.self) { try await body.collected() }
        #expect(error?.reason == .bodyEncodingFailed && error?.underlying is Odd)
        #expect(try await body.collected().text == "--B--\r\n")

        let (gate, opener) = AsyncStream<Void>.makeStream()
        let slow = try prepared([
            .deferred {
                for await _ in gate {}; return []
            }
        ]).body
        let waiting = Task { try await slow.collected() }
        waiting.cancel()
        let cancelled = await #expect(throws: RequestError.self) { try await waiting.value }
        #expect(cancelled?.isCancellation == true)
        opener.finish()
        #expect(try await slow.collected().text == "--B--\r\n")
    }

    @Test("a form with a one-shot stream can be sent once", .rows("D-14"))
    func replaying() async throws {
        let once = RequestBody.oneShot(length: 1, try RequestBody.bytes(Data("x".utf8)).makeSource())
        let body = try prepared([.body(once, name: "s")]).body
        #expect(!body.isReplayable)
        _ = try await body.collected()
        let error = await #expect(throws: RequestError.self) { try await body.collected() }
        #expect(error?.reason == .bodyNotReplayable)
    }

    @Test("a form with a missing file is invalid, and the other parts are valid without it", .rows("T-47", "AF-32"))
    func missingFile() throws {
        let parts = [MultipartForm.Part.text("a", name: "a"), .file(at: URL(filePath: "/no/such/file"), name: "f")]
        expectUnreadable { try prepared(parts) }
        #expect(try prepared(Array(parts.prefix(1))).body.text?.contains("name=\"a\"") == true)
    }

    @Test("a large file part is read chunk by chunk; REQUESTS_LARGE=1 makes it 4 GiB", .rows("AF-38", "PM-51"))
    func largeFile() async throws {
        let size = ProcessInfo.processInfo.environment["REQUESTS_LARGE"] == nil ? 64 << 20 : 4 << 30
        try await withFile(of: 1) { url, _ in
            try FileManager.default.removeItem(at: url)
            #expect(FileManager.default.createFile(atPath: url.path, contents: nil))
            try await SparseFile.extend(url.path, to: size)
            let body = try prepared([.file(at: url, name: "f")]).body
            var source = try body.makeSource()
            var (count, largest) = (0, 0)
            while let chunk = try await source.next() {
                count += chunk.count
                largest = max(largest, chunk.count)
            }
            #expect(count == body.knownLength && count > size)
            #expect(largest <= 256 << 10)
        }
    }
}

/// Sparse files, which have a size but take no disk space.
private enum SparseFile {
    struct Failed: Error {}

    /// Extends the existing file at `path` to `size` bytes by writing the last one.
    static func extend(_ path: String, to size: Int) async throws {
        let writeOnly: Int32 = 1
        let file = DispatchIO(
            type: .random, path: path, oflag: writeOnly, mode: 0, queue: .global(), cleanupHandler: { _ in })
        let last = [UInt8(0)].withUnsafeBytes { DispatchData(bytes: $0) }
        let failed: Bool = await withCheckedContinuation { continuation in
            guard let file else { return continuation.resume(returning: true) }
            file.write(offset: numericCast(size - 1), data: last, queue: .global()) { isDone, _, error in
                if isDone { continuation.resume(returning: error != 0) }
            }
        }
        if failed { throw Failed() }
    }
}
