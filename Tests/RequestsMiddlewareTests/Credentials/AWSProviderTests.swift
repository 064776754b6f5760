@_spi(Lock) import Requests
import RequestsMiddleware
import RequestsMock
import RequestsPOSIX
import TestSupport
import Testing

@Suite("AWS credentials that expire, and kept keys", .tags(.concurrent), .timeLimit(.minutes(10)))
struct AWSProviderTests {
    private let clock = DateClock()
    private let api = AnonymousRequestProvider("https://e.com")

    private func signature(hashes: (any HashProvider)? = nil) -> AWSSignature {
        var signature = AWSSignature(
            credentials: .init(accessKeyID: "unused", secretAccessKey: "unused"), region: "r", service: "s3")
        signature.now = { [clock] in clock.date }
        if let hashes { signature.hashes = hashes }
        return signature
    }

    /// Credentials whose number is part of their identifier, valid for 1,000 s.
    private func credentials(_ number: Int) -> AWSSignature.Credentials {
        .init(
            accessKeyID: "AKID\(number)", secretAccessKey: "planted-\(number)", sessionToken: "planted-t\(number)",
            expiration: clock.date + 1_000)
    }

    private func client(_ signer: RequestSigner, _ executor: MockExecutor) throws -> Client<AnonymousRequestProvider> {
        let environment = try #require(RequestEnvironment(string: "https://e.com"))
        return Client(api, executor: executor.signing(with: signer, within: environment))
    }

    private func identifiers(_ executor: MockExecutor) -> [String] {
        executor.sentAuthorizations.map { value in
            let parts = (value ?? "").split(separator: "Credential=")
            return parts.count > 1 ? String(parts[1].prefix { $0 != "/" }) : "none"
        }
    }

    @Test("credentials are obtained once for many requests, and again before and after they expire")
    func expiry() async throws {
        let count = Lock(0)
        let executor = scripted([200])
        let signer = RequestSigner.aws(signature(), leeway: .seconds(100)) {
            await Task.yield()
            return credentials(
                count.withLock { count in
                    count += 1
                    return count
                })
        }
        let client = try client(signer, executor)
        try await withThrowingTaskGroup { group in
            for _ in 0..<50 { group.addTask { _ = try await client.perform { $0.get(.text, from: "/a") } } }
            try await group.waitForAll()
        }
        #expect(count.withLock { $0 } == 1 && Set(identifiers(executor)) == ["AKID1"])
        #expect(executor.recordedRequests.allSatisfy { $0.header["X-Amz-Security-Token"] == "planted-t1" })
        clock.advance(by: .seconds(950))
        _ = try await client.perform { $0.get(.text, from: "/a") }
        // The present credentials are valid, and a refresh begins beside the request.
        #expect(["AKID1", "AKID2"].contains(identifiers(executor).last))
        while count.withLock({ $0 }) < 2 { await Task.yield() }
        while identifiers(executor).last != "AKID2" { _ = try await client.perform { $0.get(.text, from: "/a") } }
        clock.advance(by: .seconds(5_000))
        _ = try await client.perform { $0.get(.text, from: "/a") }
        #expect(identifiers(executor).last == "AKID3")
    }

    @Test("a provider that fails ends the request with its error, and nothing is sent")
    func failures() async throws {
        struct Unavailable: Error {}
        let executor = scripted([200])
        let client = try client(.aws(signature()) { throw Unavailable() }, executor)
        let error = await failure { () async throws(RequestError) in
            try await client.perform { $0.put(.text("planted"), to: "/a") }
        }
        #expect(error?.reason == .credentialsUnavailable && error?.underlying is Unavailable)
        #expect(error?.mayHaveReachedServer == false && executor.recordedCount == 0)
        #expect(error?.request != nil)
    }

    @Test("requests of the provider itself are not signed, and never wait for it")
    func nested() async throws {
        let slot = Lock<Client<AnonymousRequestProvider>?>(nil)
        let executor = scripted([200])
        let signer = RequestSigner.aws(signature()) {
            _ = try await slot.withLock { $0 }?.perform { $0.get(.text, from: "/role") }
            return credentials(1)
        }
        let client = try client(signer, executor)
        slot.withLock { $0 = client }
        _ = try await client.perform { $0.get(.text, from: "/a") }
        #expect(identifiers(executor) == ["none", "AKID1"])
        // A closure that captures the client would keep it.
        slot.withLock { $0 = nil }
    }

    @Test("blocking calls wait for credentials, and are signed at once afterwards; a stream that is sent once can wait")
    func blocking() async throws {
        let executor = scripted([200])
        var unsigned = signature()
        unsigned.payload = .unsigned
        let client = try client(.aws(unsigned) { credentials(1) }, executor)
        try await onOwnThread {
            for _ in 0..<2 {
                let body = RequestBody.stream(length: 2, isReplayable: false) { OnceSource() }
                _ = try client.performAndWait { $0.put(.raw(body: body), to: "/a") }
            }
        }
        #expect(identifiers(executor) == ["AKID1", "AKID1"])
    }

    private struct OnceSource: RequestBody.Source {
        var isAtEnd = false

        mutating func next() async throws -> Data? {
            defer { isAtEnd = true }
            return isAtEnd ? nil : Data("ab".utf8)
        }
    }

    /// Hash functions that count the codes they compute.
    private final class CountingHashes: HashProvider {
        let codes = Lock(0)

        func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
            try SystemHashes.shared.digest(of: data, with: algorithm)
        }

        func authenticationCode(of data: Data, key: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
            codes.withLock { $0 += 1 }
            return try SystemHashes.shared.authenticationCode(of: data, key: key, with: algorithm)
        }

        func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash {
            try SystemHashes.shared.makeHash(with: algorithm)
        }
    }

    @Test("the derived key is kept for the day, and never used for another secret, region, service or day")
    func keys() async throws {
        let hashes = CountingHashes()
        var signature = signature(hashes: hashes)
        signature.credentials = credentials(1)
        let executor = scripted([200])
        func sign(_ signature: AWSSignature) async throws -> (codes: Int, authorization: String?) {
            let before = hashes.codes.withLock { $0 }
            _ = try await client(.aws(signature), executor).perform { $0.get(.text, from: "/a") }
            return (hashes.codes.withLock { $0 } - before, executor.sentAuthorizations.last ?? nil)
        }
        func fresh(_ signature: AWSSignature) async throws -> String? {
            var other = AWSSignature(
                credentials: signature.credentials, region: signature.region, service: signature.service)
            other.now = signature.now
            return try await sign(other).authorization
        }
        #expect(try await sign(signature).codes == 5)
        for _ in 0..<3 { #expect(try await sign(signature).codes == 1) }
        for change in [
            { $0.credentials = credentials(2) }, { $0.region = "r2" }, { $0.service = "s3express" },
            { $0.now = { [clock] in clock.date + 86_400 } },
        ] as [(inout AWSSignature) -> Void] {
            change(&signature)
            let expected = try await fresh(signature)
            let first = try await sign(signature)
            let second = try await sign(signature)
            #expect(first.codes == 5 && second.codes == 1)
            #expect(first.authorization == expected && second.authorization == expected && expected != nil)
        }
    }
}
