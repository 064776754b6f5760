import RequestsFoundation
import Synchronization
import TestSupport
import Testing

private let api = AnonymousRequestProvider("https://e.com")

extension InputStream {
    fileprivate func readAll() -> Data {
        open()
        defer { close() }
        var whole = Data()
        var buffer = [UInt8](repeating: 0, count: 7)
        while case let count = read(&buffer, maxLength: buffer.count), count > 0 {
            whole.append(contentsOf: buffer[..<count])
        }
        return whole
    }
}

extension RequestBody {
    /// Returns the bytes that an executor would send.
    fileprivate func produced() async throws -> Data {
        guard case .stream(_, _, let make) = self else { return Data() }
        var source = try make()
        var whole = Data()
        while let chunk = try await source.next() { whole.append(chunk) }
        return whole
    }
}

@Suite("Input streams")
struct InputStreamTests {
    private let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })

    @Test("a body with a stream factory can be read repeatedly", .rows("RQ-22", "RQ-23"))
    func factory() async throws {
        let bytes = self.bytes
        let request = api.post(.raw(stream: { InputStream(data: bytes) }, contentType: .png), to: "/")
        let prepared = try request.prepared()
        #expect(prepared.header[.contentType] == "image/png")
        #expect(prepared.body.isReplayable)
        for _ in 1...2 { #expect(try await prepared.body.produced() == bytes) }
        #expect(try request.toURLRequest().httpBodyStream?.readAll() == bytes)
    }

    @Test("a body with one stream can be read once; a second read is an error", .rows("RQ-22", "R-33"))
    func oneShot() async throws {
        let body = RequestBody.stream(InputStream(data: bytes))
        #expect(!body.isReplayable)
        #expect(try await body.produced() == bytes)
        let error = await #expect(throws: RequestError.self) { try await body.produced() }
        #expect(error?.reason == .bodyNotReplayable)
        #expect(throws: RequestError.self) { try InputStream.reading(body) }
    }

    @Test("a stream that fails throws its error")
    func failing() async throws {
        let body = RequestBody.stream { InputStream(fileAtPath: "/nonexistent/file") ?? InputStream(data: Data()) }
        await #expect(throws: (any Error).self) { try await body.produced() }
    }

    @Test("a file and its ranges are read as streams; a missing file or range is an error")
    func files() throws {
        let folder = TemporaryDirectory()
        try folder.write(bytes, to: "file")
        let path = folder.path(of: "file")
        #expect(try InputStream.reading(.file(path: path)).readAll() == bytes)
        #expect(try InputStream.reading(.file(path: path, range: 5..<70_000)).readAll() == bytes[5..<70_000])
        #expect(try InputStream.reading(.file(path: path, range: 0..<0)).readAll().isEmpty)
        let rejected: [RequestBody] = [
            .file(path: path, range: 199_999..<200_001), .file(path: path, range: -1..<3),
            .file(path: path + "x"), .file(path: path + "x", range: 0..<1),
        ]
        for body in rejected {
            let error = #expect(throws: RequestError.self) { try InputStream.reading(body) }
            #expect(error?.reason == .fileAccessFailed)
        }
    }

    @Test("bytes and an empty body are read as streams; an asynchronous body is an error", .rows("RQ-22"))
    func others() throws {
        #expect(try InputStream.reading(.bytes(bytes)).readAll() == bytes)
        #expect(try InputStream.reading(.none).readAll().isEmpty)
        let body = RequestBody.stream { AsyncStream<Data> { $0.finish() } }
        let error = #expect(throws: RequestError.self) { try InputStream.reading(body) }
        #expect(error?.reason == .bodyEncodingFailed)
    }

    @Test("the stream of a URLRequest is sent once")
    func urlRequest() async throws {
        var request = URLRequest(url: URL("https://e.com/"))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: bytes)
        let prepared = try PreparedRequest(request)
        #expect(!prepared.body.isReplayable)
        #expect(try await prepared.body.produced() == bytes)
    }
}
