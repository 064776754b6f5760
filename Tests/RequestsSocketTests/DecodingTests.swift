import RequestsMiddleware
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

@Suite(
    "Content codings over sockets", .timeLimit(.minutes(10)),
    .enabled(if: ContentDecoding.availableCodings.contains("gzip"), "zlib is not installed"))
struct DecodingTests {
    /// `hello, hello, hello` in gzip.
    private static let packed = Data(base64Encoded: "H4sIAAAAAAACA8tIzcnJ11HIQKIAn6HKCRMAAAA=") ?? Data()

    private static func head(_ length: Int, _ fields: String = "Content-Encoding: gzip\r\n") -> [UInt8] {
        Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(length)\r\n\r\n".utf8)
    }

    /// Performs an awaited and a blocking call, and returns both results.
    private static func outcomes(
        of request: PreparedRequest, _ executor: some RequestExecutor
    ) async throws -> [Result<RawResponse, RequestError>] {
        let awaited: Result<RawResponse, RequestError>
        do throws(RequestError) {
            awaited = .success(try await executor.execute(request))
        } catch {
            awaited = .failure(error)
        }
        let blocked = try await onThread { Result { () throws(RequestError) in try executor.executeAndWait(request) } }
        return [awaited, blocked]
    }

    @Test(
        "a collected body is decoded as it arrives: corrupt data ends the call before the body is complete",
        .rows("R-24", "R-44")
    )
    func corruptData() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            guard line.receiveRequest() != nil else { return }
            line.send(Self.head(1_000) + Array("junk".utf8))
            line.waitForEnd()
        }
        let sockets = SocketExecutor()
        let executor = sockets.decodingContent()
        for outcome in try await Self.outcomes(of: peer.request(), executor) {
            let error = outcome.failure
            #expect(error?.reason == .protocolViolation)
            #expect((error?.underlying as? ContentCodingError)?.coding == "gzip")
        }
        #expect(sockets.connections == (0, 0))
    }

    @Test("a body that arrives in pieces is decoded, and its connection is reused", .rows("R-47"))
    func pieces() async throws {
        let packed = Self.packed
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil { line.send(Self.head(packed.count) + Array(packed), piece: 1) }
        }
        let sockets = SocketExecutor()
        let executor = sockets.decodingContent()
        for _ in 0..<3 {
            for outcome in try await Self.outcomes(of: peer.request(), executor) {
                let response = try outcome.get()
                #expect(response.text == "hello, hello, hello")
                #expect(response.metrics.encodedBodyLength == packed.count)
            }
        }
        #expect(sockets.connections == (1, 1) && peer.connections == 1)
    }

    @Test(
        "the limit counts decoded bytes; an excessive Content-Length is an error before the body is read", .rows("R-25")
    )
    func limits() async throws {
        let packed = Self.packed
        let peer = try ScriptedPeer { line, _, _ in
            while let request = line.receiveRequest() {
                line.send(Self.head(request.contains("/long") ? 10_000_000_000 : packed.count) + Array(packed))
            }
        }
        let executor = SocketExecutor().decodingContent()
        for (path, limit, isWithin) in [("/", 19, true), ("/", 18, false), ("/long", 1_000, false)] {
            let request = try peer.request(.get, path, delivery: .collected(limit: limit))
            for outcome in try await Self.outcomes(of: request, executor) {
                switch outcome {
                case .success(let response): #expect(isWithin && response.text == "hello, hello, hello")
                case .failure(let error):
                    #expect(!isWithin && error.reason == .tooLarge(limit: limit))
                    let isAnnounced =
                        error.detail == "Content-Length announces 10000000000 bytes, more than the limit"
                    #expect(isAnnounced == (path == "/long"), "\(error)")
                }
            }
        }
    }

    @Test("a body that is not decoded has the requested delivery", arguments: ["identity", "gzip", "no-such-coding"])
    func unchanged(coding: String) async throws {
        let packed = Self.packed
        let peer = try ScriptedPeer { line, _, _ in
            while let request = line.receiveRequest() {
                let status = request.contains("/part") ? "206 Partial Content" : "302 Found"
                let fields = "Content-Encoding: \(coding)\r\nLocation: /there\r\nContent-Length: \(packed.count)"
                line.send("HTTP/1.1 \(status)\r\n\(fields)\r\n\r\n")
                line.send(Array(packed), piece: 1)
            }
        }
        let executor = SocketExecutor().decodingContent()
        for path in ["/part", "/redirect"] {
            for outcome in try await Self.outcomes(of: peer.request(.get, path), executor) {
                let response = try outcome.get()
                #expect(response.collected == packed && response.head.header[.contentEncoding] == coding)
            }
            for outcome in try await Self.outcomes(
                of: peer.request(.get, path, delivery: .collected(limit: 1)), executor)
            {
                #expect(outcome.failure?.reason == .tooLarge(limit: 1) && outcome.failure?.response != nil)
            }
        }
    }

    @Test("middleware inside of decoding receives a collected body")
    func between() async throws {
        let packed = Self.packed
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest() != nil { line.send(Self.head(packed.count) + Array(packed), piece: 1) }
        }
        let executor = SocketExecutor().intercepting { request, next in
            let response = try await next.execute(request)
            #expect(response.collected == packed)
            return response
        }.decodingContent()
        for outcome in try await Self.outcomes(of: peer.request(), executor) {
            #expect(try outcome.get().text == "hello, hello, hello")
        }
    }

    @Test("a blocking call reads a response that arrives whole, and decodes it", .rows("HT-1"))
    func blocking() async throws {
        let packed = Self.packed
        let peer = try ScriptedPeer { line, _, _ in
            while let request = line.receiveRequest() {
                line.send(request.contains("/plain") ? Array(ok.utf8) : Self.head(packed.count) + Array(packed))
            }
        }
        let executor = SocketExecutor().decodingContent()
        for (path, text) in [("/plain", "ok"), ("/packed", "hello, hello, hello")] {
            let request = try peer.request(.get, path)
            #expect(try await executor.execute(request).text == text)
            let blocking = try await onThread {
                Result { () throws(RequestError) in try executor.executeAndWait(request) }
            }.get()
            #expect(blocking.text == text && blocking.head.header[.contentEncoding] == nil)
        }
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

extension RawResponse {
    fileprivate var collected: Data? { if case .bytes(let data) = body { data } else { nil } }
}
