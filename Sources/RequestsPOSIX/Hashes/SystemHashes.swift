#if canImport(CryptoKit)
internal import CryptoKit
package import Requests

/// The hash functions of CryptoKit, which has no SHA-512/256.
package struct SystemHashes: HashProvider {
    package static let shared: any HashProvider = SystemHashes()

    package func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
        switch algorithm {
        case .md5: Array(Insecure.MD5.hash(data: data))
        case .sha1: Array(Insecure.SHA1.hash(data: data))
        case .sha256: Array(SHA256.hash(data: data))
        case .sha512t256: throw .unsupported(algorithm)
        }
    }

    package func authenticationCode(
        of data: Data, key: Data, with algorithm: HashAlgorithm
    ) throws(HashError) -> [UInt8] {
        let key = SymmetricKey(data: key)
        return switch algorithm {
        case .md5: Array(HMAC<Insecure.MD5>.authenticationCode(for: data, using: key))
        case .sha1: Array(HMAC<Insecure.SHA1>.authenticationCode(for: data, using: key))
        case .sha256: Array(HMAC<SHA256>.authenticationCode(for: data, using: key))
        case .sha512t256: throw .unsupported(algorithm)
        }
    }

    package func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash {
        switch algorithm {
        case .md5: CryptoKitHash<Insecure.MD5>()
        case .sha1: CryptoKitHash<Insecure.SHA1>()
        case .sha256: CryptoKitHash<SHA256>()
        case .sha512t256: throw .unsupported(algorithm)
        }
    }
}

/// A hash of CryptoKit whose input arrives in pieces.
private final class CryptoKitHash<Function: HashFunction>: IncrementalHash {
    private var function = Function()

    func update(_ data: Data) throws(HashError) { function.update(data: data) }

    func finish() throws(HashError) -> [UInt8] { Array(function.finalize()) }
}
#else
/// The hash functions of the platform.
package enum SystemHashes {
    /// The hash functions of this platform; libcrypto is loaded when the first hash is computed.
    package static var shared: any HashProvider { LibCrypto.shared }
}
#endif
