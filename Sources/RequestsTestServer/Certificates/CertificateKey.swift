import CRequestsTest
@_spi(Lock) import Requests
import RequestsPOSIX
package import RequestsTLS

/// A private key that was created for a test.
package final class CertificateKey: Sendable {
    package enum Kind: Sendable {
        /// An elliptic curve key on P-256.
        case p256
        /// An RSA key with this number of bits; every client refuses 1024.
        case rsa(bits: Int)
    }

    package let kind: Kind
    /// OpenSSL changes a key while it encodes it, so only one thread may use it at a time.
    private let key: Lock<SharedPointer>
    private let library: SigningLibrary

    /// Makes a key; an RSA key takes some hundred milliseconds.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/unavailable`` if the library is missing or cannot make the key.
    package init(_ kind: Kind, library: SigningLibrary = .shared) throws(TLSError) {
        let signing = try library.functions()
        let key =
            switch kind {
            case .p256: rp_signing_make_key(signing, nil)
            case .rsa(let bits): rp_signing_make_key(signing, "\(bits)")
            }
        guard let key else { throw TLSError(.unavailable, "could not make a key") }
        self.kind = kind
        self.key = Lock(SharedPointer(address: key))
        self.library = library
    }

    deinit {
        if let signing = try? library.functions() { signing.pointee.EVP_PKEY_free(key.withLock { $0.address }) }
    }

    /// Returns the SubjectPublicKeyInfo as DER.
    package func publicKey() throws(TLSError) -> [UInt8] {
        let signing = try library.functions().pointee
        return try encoded { signing.i2d_PUBKEY($0, $1) }
    }

    /// Returns the private key as DER, in the traditional format of its algorithm.
    package func der() throws(TLSError) -> Data {
        let signing = try library.functions().pointee
        return Data(try encoded { signing.i2d_PrivateKey($0, $1) })
    }

    /// Returns the private key as PEM of PKCS#8, encrypted if there is a passphrase.
    package func pem(passphrase: String? = nil) throws(TLSError) -> Data {
        let signing = try library.functions().pointee
        guard let bio = signing.BIO_new(signing.BIO_s_mem()) else { throw TLSError(.unavailable, "no memory") }
        defer { _ = signing.BIO_free(bio) }
        let secret = Array((passphrase ?? "").utf8).map { CChar(bitPattern: $0) }
        let cipher = passphrase == nil ? nil : signing.EVP_aes_128_cbc()
        let isWritten = key.withLock { key in
            secret.withUnsafeBufferPointer { secret in
                let start = cipher == nil ? nil : secret.baseAddress
                let count = Int32(secret.count)
                return signing.PEM_write_bio_PKCS8PrivateKey(bio, key.address, cipher, start, count, nil, nil) == 1
            }
        }
        let memory: Int32 = 3
        var start: UnsafeMutableRawPointer?
        let count = signing.BIO_ctrl(bio, memory, 0, &start)
        guard isWritten, let start, count > 0 else {
            signing.ERR_clear_error()
            throw TLSError(.unavailable, "could not write a key")
        }
        return Data(bytes: start, count: count)
    }

    /// Returns the signature of `bytes`, with SHA-256, or with SHA-1 for a test.
    func signature(of bytes: [UInt8], usesSHA1: Bool) throws(TLSError) -> [UInt8] {
        let signing = try library.functions().pointee
        let context = signing.EVP_MD_CTX_new()
        defer { signing.EVP_MD_CTX_free(context) }
        let type = usesSHA1 ? signing.EVP_sha1() : signing.EVP_sha256()
        var result = [UInt8](repeating: 0, count: 1024)
        var size = result.count
        let isSigned = key.withLock { key in
            context != nil && signing.EVP_DigestSignInit(context, nil, type, nil, key.address) == 1
                && signing.EVP_DigestSign(context, &result, &size, bytes, bytes.count) == 1
        }
        guard isSigned else {
            signing.ERR_clear_error()
            throw TLSError(.unavailable, "could not sign a certificate")
        }
        return Array(result.prefix(size))
    }

    /// Returns the bytes of the key that `write` writes; its second parameter refers to the address to write to.
    private func encoded(
        _ write: (UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(TLSError) -> [UInt8] {
        let bytes = key.withLock { key in
            let count = Int(write(key.address, nil))
            return [UInt8](unsafeUninitializedCapacity: max(0, count)) { buffer, initialized in
                var position = buffer.baseAddress
                initialized = count > 0 ? max(0, Int(write(key.address, &position))) : 0
            }
        }
        guard !bytes.isEmpty else { throw TLSError(.unavailable, "could not encode a key") }
        return bytes
    }
}

/// The functions of libcrypto that make keys and signatures, loaded when a test needs a certificate.
package final class SigningLibrary: Sendable {
    /// The library of the system: version 3, otherwise 1.1.1.
    package static let shared = SigningLibrary()

    private let result: Result<SharedPointer, TLSError>

    private init() {
        let library = SystemLibrary(
            name: "libcrypto", files: ["libcrypto.so.3", "libcrypto.so.1.1"], packages: TLSLibrary.packages)
        do throws(SystemLibrary.Failure) {
            let table = UnsafeMutablePointer<rp_signing>.allocate(capacity: 1)
            table.initialize(
                to: try library.load(into: rp_signing()) { handle, table in
                    rp_signing_resolve(handle, &table).map { String(cString: $0) }
                })
            // OPENSSL_INIT_NO_ATEXIT, as for connections.
            _ = table.pointee.OPENSSL_init_crypto(0x0008_0000, nil)
            result = .success(SharedPointer(address: table))
        } catch {
            result = .failure(TLSError(.unavailable, error.description))
        }
    }

    func functions() throws(TLSError) -> UnsafePointer<rp_signing> {
        UnsafePointer(try result.get().address.assumingMemoryBound(to: rp_signing.self))
    }
}
