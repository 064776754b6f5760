import Requests
import RequestsPOSIX
import Testing

@Suite("Hashes of the system")
struct HashTests {
    private static let abc = Data("abc".utf8)
    /// The 896-bit message from FIPS 180-4's examples.
    private static let long = Data(
        ("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
            + "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu").utf8)

    struct Vector: Sendable, CustomTestStringConvertible {
        let algorithm: HashAlgorithm
        let message: Data
        let digest: String

        var testDescription: String { "\(algorithm.rawValue) of \(message.count) bytes" }
    }

    /// Published digests: RFC 1321 §A.5, and NIST's examples of FIPS 180-4.
    static let vectors = [
        Vector(algorithm: .md5, message: Data(), digest: "d41d8cd98f00b204e9800998ecf8427e"),
        Vector(algorithm: .md5, message: abc, digest: "900150983cd24fb0d6963f7d28e17f72"),
        Vector(algorithm: .sha1, message: Data(), digest: "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        Vector(algorithm: .sha1, message: abc, digest: "a9993e364706816aba3e25717850c26c9cd0d89d"),
        Vector(
            algorithm: .sha256, message: Data(),
            digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        Vector(
            algorithm: .sha256, message: abc, digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        ),
        Vector(
            algorithm: .sha512t256, message: abc,
            digest: "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        Vector(
            algorithm: .sha512t256, message: long,
            digest: "3928e184fb8690f840da3988121d31be65cb9d3ef83ee6146feac861e19b563a"),
    ]

    @Test("digests equal the published ones, whole and in pieces", arguments: vectors)
    func digests(vector: Vector) throws {
        let hashes = SystemHashes.shared
        #expect(try hashes.digest(of: vector.message, with: vector.algorithm).hex == vector.digest)
        let hash = try hashes.makeHash(with: vector.algorithm)
        for byte in vector.message { try hash.update(Data([byte])) }
        try hash.update(Data())
        #expect(try hash.finish().hex == vector.digest)
    }

    /// RFC 4231 §4.2, §4.3, §4.7 and RFC 2202 §2, §3: the algorithm, the key, the data and the code.
    static let codes: [(HashAlgorithm, Data, String, String)] = [
        (
            .sha256, Data(repeating: 0x0B, count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            .sha256, Data("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            .sha256, Data(repeating: 0xAA, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (.md5, Data("Jefe".utf8), "what do ya want for nothing?", "750c783e6ab0b503eaa86e310a5db738"),
        (.sha1, Data("Jefe".utf8), "what do ya want for nothing?", "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (.sha256, Data(), "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ]

    @Test("message authentication codes equal the published ones", arguments: codes)
    func authenticationCodes(algorithm: HashAlgorithm, key: Data, data: String, code: String) throws {
        let found = try SystemHashes.shared.authenticationCode(of: Data(data.utf8), key: key, with: algorithm)
        #expect(found.hex == code)
    }

    @Test("a key longer than a mebibyte is replaced by its digest, as every long key is")
    func longKey() throws {
        let hashes = SystemHashes.shared
        let key = Data(repeating: 7, count: 1 << 20 + 1)
        let hashed = Data(try hashes.digest(of: key, with: .sha256))
        let code = try hashes.authenticationCode(of: Self.abc, key: key, with: .sha256)
        #expect(try code == hashes.authenticationCode(of: Self.abc, key: hashed, with: .sha256))
    }

    @Test("a missing library is an error that names the packages to install, each time")
    func missingLibrary() {
        let library = SystemLibrary(
            name: "libcrypto", files: ["/nonexistent/libcrypto.so.3", "/nonexistent/libcrypto.so.1.1"],
            packages: "libssl3 (Debian, Ubuntu) or libcrypto3 (Alpine)")
        let hashes = LibCrypto(library)
        for _ in 0..<2 {
            let error = #expect(throws: HashError.self) { try hashes.digest(of: Self.abc, with: .sha256) }
            let text = error?.description ?? ""
            for part in ["/nonexistent/libcrypto.so.3", "libcrypto.so.1.1", "libssl3", "libcrypto3"] {
                #expect(text.contains(part), "\(text)")
            }
        }
    }

    @Test("a library that lacks a function is not used, and the next one is tried")
    func wrongLibrary() throws {
        #if os(Linux)
        let wrong = SystemLibrary(name: "libcrypto", files: ["libc.so.6", "libm.so.6"], packages: "libssl3")
        let error = #expect(throws: HashError.self) { try LibCrypto(wrong).digest(of: Self.abc, with: .sha256) }
        #expect(error?.description.contains("libc.so.6 has no function OPENSSL_init_crypto") == true)
        guard (try? LibCrypto.shared.digest(of: Self.abc, with: .sha256)) != nil else { return }
        let files = ["/nonexistent", "libm.so.6"] + ["libcrypto.so.3", "libcrypto.so.1.1"]
        let right = LibCrypto(SystemLibrary(name: "libcrypto", files: files, packages: "libssl3"))
        #expect(try right.digest(of: Self.abc, with: .sha256).hex.hasPrefix("ba7816bf"))
        #endif
    }

    @Test("an incremental hash can be abandoned, and many threads can share the library")
    func sharing() async throws {
        let hashes = SystemHashes.shared
        await withTaskGroup { group in
            for _ in 0..<64 {
                group.addTask {
                    for vector in Self.vectors {
                        let digest = try? hashes.digest(of: vector.message, with: vector.algorithm)
                        #expect(digest?.hex == vector.digest)
                        let hash = try? hashes.makeHash(with: vector.algorithm)
                        try? hash?.update(vector.message)
                    }
                }
            }
        }
    }
}

extension [UInt8] {
    fileprivate var hex: String {
        map { String(Int($0) + 256, radix: 16).dropFirst() }.joined()
    }
}
