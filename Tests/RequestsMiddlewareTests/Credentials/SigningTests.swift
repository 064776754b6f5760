@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

@Suite("Signing requests", .tags(.concurrent), .timeLimit(.minutes(10)))
struct SigningTests {
    private static let credentials = AWSSignature.Credentials(
        accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")

    private func environment() throws -> RequestEnvironment {
        try #require(RequestEnvironment(string: "http://e.com/api"))
    }

    /// The settings of AWS's examples, which are signed on 24 May 2013.
    private static func example(_ payload: AWSSignature.Payload = .signed) -> AWSSignature {
        var signature = AWSSignature(
            credentials: credentials, region: "us-east-1", service: "s3", payload: payload)
        signature.now = { Date(timeIntervalSince1970: 1_369_353_600) }
        return signature
    }

    private func signed(_ request: PreparedRequest, _ signer: RequestSigner) async throws -> PreparedRequest {
        let served = scripted([200])
        let environment = try #require(RequestEnvironment(string: request.target.origin))
        _ = try await served.signing(with: signer, within: environment).execute(request)
        return try #require(served.recordedRequests.first)
    }

    @Test("a request with a range is signed as in the documentation of Amazon S3")
    func documentedGet() async throws {
        let request = try PreparedRequest(
            target: TargetURI("https://examplebucket.s3.amazonaws.com/test.txt"),
            header: [Field(name: .range, value: "bytes=0-9")])
        let sent = try await signed(request, .aws(Self.example()))
        #expect(
            sent.header[.authorization]
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test("a query is signed as in the documentation of Amazon S3")
    func documentedQuery() async throws {
        let request = try PreparedRequest(
            target: TargetURI("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J"))
        let sent = try await signed(request, .aws(Self.example()))
        let value = sent.header[.authorization] ?? ""
        #expect(value.hasSuffix("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
    }

    @Test("a URL is presigned as in the documentation of Amazon S3")
    func documentedURL() throws {
        let request = try PreparedRequest(target: TargetURI("https://examplebucket.s3.amazonaws.com/test.txt"))
        let url = try Self.example().presignedURL(for: request, expiresIn: .seconds(86_400))
        let signature = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        #expect(url.absoluteString.hasSuffix("&X-Amz-SignedHeaders=host&X-Amz-Signature=\(signature)"))
    }

    @Test("the canonical form has sorted names, trimmed values, and a query that is encoded again")
    func canonicalForm() throws {
        let header = Header([
            Field(name: "X-B", value: "2"), Field(name: "My-Header2", value: "a   b \t c"),
            Field(name: "my-header1", value: " value1 "), Field(name: "x-b", value: "1"),
            Field(name: .userAgent, value: "agent"), Field(name: .connection, value: "close"),
            Field(name: .authorization, value: "old"),
        ])
        let target = try TargetURI("http://E.com:8080/a%2fb//c/?b=%7e&b=*&a&&c=a+b/%c3%A9%ff&%41=1")
        var signature = Self.example()
        signature.service = "service"
        let request = PreparedRequest(target: target, header: header)
        let canonical = signature.canonicalRequest(of: request, bodyDigest: Data([0xAB]))
        #expect(canonical.signedNames == "host;my-header1;my-header2;x-b")
        let lines = [
            "GET", "/a%252fb/c/", "A=1&a=&b=%2A&b=~&c=a%20b%2F%C3%A9%FF", "host:e.com:8080", "my-header1:value1",
            "my-header2:a b c", "x-b:2,1", "", canonical.signedNames, "ab",
        ]
        #expect(canonical.text == lines.joined(separator: "\n"))
    }

    @Test("chunks are signed as in the documentation of Amazon S3")
    func documentedChunks() async throws {
        let scope = try AWSScope(Self.example())
        let seed = "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"
        let body = RequestBody.bytes(Data(repeating: UInt8(ascii: "a"), count: 66_560))
        let encoded = AWSChunks(scope, seed: seed, size: 65_536).encoding(body, ofLength: 66_560)
        #expect(encoded.knownLength == 66_824)
        guard case .bytes(let data) = try await encoded.collected() else {
            Issue.record("not collected")
            return
        }
        let text = String(decoding: data, as: UTF8.self)
        for signature in [
            "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n",
            "400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n",
            "0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n",
        ] { #expect(text.contains(signature)) }
    }

    @Test("a request without a body has none in chunks either", arguments: [HTTPMethod.get, .head, .delete])
    func nothingInChunks(method: HTTPMethod) async throws {
        let request = try PreparedRequest(method: method, target: TargetURI("http://e.com/k"))
        let sent = try await signed(request, .aws(Self.example(.chunks())))
        #expect(sent.body.knownLength == 0 && !sent.header.contains(.contentEncoding))
        #expect(try await signed(request, .aws(Self.example(.signed))).header == sent.header)
    }

    @Test("the size of chunks is limited", arguments: [Int.min, -1, 0, 1, .max])
    func chunkSizes(size: Int) async throws {
        let request = try PreparedRequest(
            method: .put, target: TargetURI("http://e.com/k"), body: .bytes(Data("abc".utf8)))
        let sent = try await signed(request, .aws(Self.example(.chunks(size: size))))
        // Two chunks: “abc” and the empty one.
        #expect(sent.body.knownLength == 1 + 17 + 64 + 2 + 3 + 2 + (1 + 17 + 64 + 2 + 2))
    }

    @Test(
        "a body in signed chunks has the declared length, whatever the sizes of its pieces",
        arguments: [0, 1, 8_191, 8_192, 8_193, 100_000])
    func chunkLengths(count: Int) async throws {
        let content = pattern(count)
        let pieces: [Data] = stride(from: 0, to: count, by: 7_001).map { content[$0..<min($0 + 7_001, count)] }
        let body = RequestBody.stream(length: count, isReplayable: true) { Pieces(pieces: pieces) }
        let request = try PreparedRequest(method: .put, target: TargetURI("http://e.com/k"), body: body)
        let sent = try await signed(request, .aws(Self.example(.chunks(size: 1))))
        #expect(
            sent.header["X-Amz-Decoded-Content-Length"] == "\(count)" && sent.header[.contentEncoding] == "aws-chunked")
        guard let length = sent.body.knownLength, case .bytes(let data) = try await sent.body.collected() else {
            Issue.record("no length")
            return
        }
        #expect(data.count == length)
        var decoded = Data()
        var remainder = data[...]
        while let end = remainder.firstRange(of: Data("\r\n".utf8)) {
            let line = String(decoding: remainder[..<end.lowerBound], as: UTF8.self)
            let size = try #require(Int(line.split(separator: ";")[0], radix: 16))
            decoded += remainder[end.upperBound..<end.upperBound + size]
            remainder = remainder[(end.upperBound + size + 2)...]
        }
        #expect(decoded == content && remainder.isEmpty)
    }

    /// Hashes that are all zeros, so that a test with a large body is fast.
    private struct ZeroHashes: HashProvider {
        private let zeros = [UInt8](repeating: 0, count: 32)

        func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] { zeros }

        func authenticationCode(of data: Data, key: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
            zeros
        }

        func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash {
            try SystemHashes.shared.makeHash(with: algorithm)
        }
    }

    /// A body of `count` pieces of 99,999 bytes, which have few multiples that chunks have too.
    private struct RepeatedPiece: RequestBody.Source {
        var count: Int
        mutating func next() async throws -> Data? {
            count -= 1
            return count < 0 ? nil : Data(repeating: 1, count: 99_999)
        }
    }

    @Test(
        "the memory for a body in signed chunks does not grow with its length",
        .enabled(if: ProcessUsage.peakResidentKiB != nil, "the system does not report the memory"))
    func chunkMemory() async throws {
        var signature = Self.example(.chunks())
        signature.hashes = ZeroHashes()
        let body = RequestBody.stream(length: 499_995_000, isReplayable: true) { RepeatedPiece(count: 5_000) }
        let chunks = try AWSChunks(AWSScope(signature), seed: "", size: 65_536).encoding(body, ofLength: 499_995_000)
        let before = try #require(ProcessUsage.peakResidentKiB)
        var source = try chunks.makeSource()
        var count = 0
        while let chunk = try await source.next() { count += chunk.count }
        #expect(count == chunks.knownLength)
        // Other tests use memory at the same time, but less than this body.
        #expect(try #require(ProcessUsage.peakResidentKiB) - before < 300 << 10)
    }

    private struct Pieces: RequestBody.Source {
        var pieces: [Data]
        mutating func next() async throws -> Data? { pieces.isEmpty ? nil : pieces.removeFirst() }
    }

    @Test(
        "files and streams are hashed before they are sent, and a body that can be sent once is refused", .rows("R-33"))
    func bodies() async throws {
        let target = try TargetURI("http://e.com/k")
        let content = Data("content".utf8)
        let signer = RequestSigner.hmacSHA256(key: Data("key".utf8), field: "X-Signature") { $1 }
        var values: Set<String?> = []
        let folder = TemporaryDirectory()
        try folder.write("content".utf8, to: "f")
        let bodies: [RequestBody] = [
            .bytes(content), .file(path: folder.path(of: "f")),
            .stream(length: nil, isReplayable: true) { Pieces(pieces: [content.prefix(3), content.dropFirst(3)]) },
        ]
        for body in bodies {
            let sent = try await signed(PreparedRequest(method: .put, target: target, body: body), signer)
            values.insert(sent.header["X-Signature"])
        }
        #expect(values.count == 1 && !values.contains(nil))
        let once = PreparedRequest(method: .put, target: target, body: .oneShot(Pieces(pieces: [content])))
        let served = scripted([200])
        let anywhere = try #require(RequestEnvironment(string: "http://e.com"))
        let executor = served.signing(with: signer, within: anywhere)
        let error = await failure { () async throws(RequestError) in try await executor.execute(once) }
        #expect(
            error?.reason == .bodyNotReplayable && error?.mayHaveReachedServer == false && served.recordedCount == 0)
        // A payload that is not signed needs no reading.
        let sent = try await signed(once, .aws(Self.example(.unsigned)))
        #expect(sent.header["X-Amz-Content-SHA256"] == "UNSIGNED-PAYLOAD")
    }

    @Test(
        "a signature covers the fields that other middleware has added, for each target of a redirect",
        .rows("R-27", "R-36"))
    func order() async throws {
        let messages = Lock<[String]>([])
        let signer = RequestSigner { request, digest in
            messages.withLock {
                $0.append("\(request.method) \(request.target.requestTarget) \(request.header["X-Tag"] ?? "")")
            }
            var request = request
            request.header[.authorization] = "Test \(digest.count)"
            return request
        }
        let served = MockExecutor { request in
            switch request.target.absoluteString {
            case "http://e.com/api/1": .redirect(to: "/api/2")
            case "http://e.com/api/2": .redirect(to: "http://f.com/api/3")
            case "http://f.com/api/3": .redirect(to: "http://e.com/api/4")
            default: .ok()
            }
        }
        let executor = try served.signing(with: signer, within: environment()).intercepting { request, next in
            var request = request
            request.header["X-Tag"] = "t"
            return try await next.execute(request)
        }
        _ = try await executor.perform(AnonymousRequestProvider("http://e.com").get(.text, from: "/api/1"))
        #expect(messages.withLock { $0 } == ["GET /api/1 t", "GET /api/2 t"])
        #expect(served.sentAuthorizations == ["Test 32", "Test 32", nil, nil])
    }

    @Test("blocking calls are signed on the calling thread")
    func blocking() throws {
        let served = scripted([200])
        let signer = RequestSigner.hmacSHA256(key: Data("key".utf8), field: "X-Signature") { request, digest in
            Data(request.target.path.utf8) + digest
        }
        let executor = try served.signing(with: signer, within: environment())
        let folder = TemporaryDirectory()
        try folder.write("content".utf8, to: "f")
        let api = AnonymousRequestProvider("http://e.com")
        _ = try executor.performAndWait(api.post(.text("content"), to: "/api/1", receiving: .text))
        _ = try executor.performAndWait(
            api.post(.file(at: URL(filePath: folder.path(of: "f"))), to: "/api/1", receiving: .text))
        let values = Set(served.recordedRequests.map { $0.header["X-Signature"] })
        #expect(served.recordedCount == 2 && values.count == 1 && !values.contains(nil))
    }

    @Test("invalid values and a missing library are errors before anything is sent", .rows("S-52"))
    func problems() async throws {
        var cases: [AWSSignature] = []
        for (id, secret, region, service) in [
            ("", "s", "r", "s"), ("id", "", "r", "s"), ("id", "s", "", "s"), ("id", "s", "r", ""),
            ("i d", "s", "r", "s"),
            ("id", "s", "r/x", "s"), ("id", "s", "r", "s\r\nX: y"),
        ] {
            cases.append(
                AWSSignature(
                    credentials: .init(accessKeyID: id, secretAccessKey: secret), region: region, service: service))
        }
        cases.append(
            AWSSignature(
                credentials: .init(accessKeyID: "id", secretAccessKey: "s", sessionToken: "a\nb"), region: "r",
                service: "s"))
        var late = Self.example()
        late.now = { Date(timeIntervalSince1970: 1e15) }
        var missing = Self.example()
        missing.hashes = LibCrypto(SystemLibrary(name: "libcrypto", files: ["/nonexistent"], packages: "libssl3"))
        let served = scripted([200])
        let request = try PreparedRequest(target: TargetURI("http://e.com/api/"))
        for signature in cases + [late, missing] {
            let executor = try served.signing(with: .aws(signature), within: environment())
            let error = await failure { () async throws(RequestError) in try await executor.execute(request) }
            #expect(error?.reason == .credentialsUnavailable && error?.mayHaveReachedServer == false)
            #expect(error?.underlying is CredentialError && error?.request?.target == request.target)
            #expect(throws: RequestError.self) { try signature.presignedURL(for: request, expiresIn: .seconds(60)) }
        }
        for seconds in [-1, 0, 604_801] {
            #expect(throws: RequestError.self) {
                try Self.example().presignedURL(for: request, expiresIn: .seconds(seconds))
            }
        }
        #expect(served.recordedCount == 0)
    }
}
