package import Requests

package enum HashAlgorithm: String, CaseIterable, Sendable {
    case md5 = "MD5"
    case sha1 = "SHA-1"
    case sha256 = "SHA-256"
    case sha512t256 = "SHA-512-256"
}

/// An implementation of hash functions that the platform provides.
package protocol HashProvider: Sendable {
    /// Returns the digest of `data`.
    ///
    /// - Throws: ``HashError`` if the algorithm is unavailable.
    func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8]

    /// Returns the HMAC of `data` with `key`, which may have any length (RFC 2104).
    ///
    /// - Throws: ``HashError`` if the algorithm is unavailable.
    func authenticationCode(
        of data: Data, key: Data, with algorithm: HashAlgorithm
    ) throws(HashError) -> [UInt8]

    /// Returns a hash whose input arrives in pieces.
    ///
    /// - Throws: ``HashError`` if the algorithm is unavailable.
    func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash
}

/// A hash whose input arrives in pieces; one owner uses it, with one call at a time.
package protocol IncrementalHash: AnyObject {
    /// Appends `data` to the input.
    ///
    /// - Throws: ``HashError`` if the library fails; do not use the hash after it.
    func update(_ data: Data) throws(HashError)

    /// Returns the digest of the input; call it once.
    ///
    /// - Throws: ``HashError`` if the library fails.
    func finish() throws(HashError) -> [UInt8]
}

package enum HashError: Error, Sendable, CustomStringConvertible {
    /// The library of the system could not be loaded, or cannot be used because the process is exiting.
    case libraryMissing(SystemLibrary.Failure)
    /// The platform does not have the algorithm, or does not allow it.
    case unsupported(HashAlgorithm)

    package var description: String {
        switch self {
        case .libraryMissing(let failure): failure.description
        case .unsupported(let algorithm): "\(algorithm.rawValue) is unavailable on this system"
        }
    }
}
