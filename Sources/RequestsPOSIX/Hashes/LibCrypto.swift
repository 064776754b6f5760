import CRequestsPOSIX
@_spi(Lock) package import Requests

/// The hash functions of OpenSSL's libcrypto, which is loaded when the first hash is computed.
package final class LibCrypto: HashProvider {
    /// The library of the system: version 3, otherwise 1.1.1.
    package static let shared = LibCrypto(
        SystemLibrary(
            name: "libcrypto", files: ["libcrypto.so.3", "libcrypto.so.1.1"],
            packages: "libssl3 (Debian, Ubuntu) or libcrypto3 (Alpine)"))

    private let table: Lock<Result<rp_crypto, SystemLibrary.Failure>?>
    private let library: SystemLibrary

    /// Creates a provider that loads `library` when it is first needed, and only once.
    package init(_ library: SystemLibrary) {
        self.library = library
        table = Lock(nil)
    }

    private func functions() throws(HashError) -> rp_crypto {
        // Loaded under the lock, so that the library is initialized once.
        let result = table.withLock { table in
            if let table { return table }
            let result = Self.load(library)
            table = result
            return result
        }
        switch result {
        case .success(let functions): return functions
        case .failure(let failure): throw .libraryMissing(failure)
        }
    }

    private static func load(_ library: SystemLibrary) -> Result<rp_crypto, SystemLibrary.Failure> {
        do throws(SystemLibrary.Failure) {
            let table = try library.load(into: rp_crypto()) { handle, table in
                rp_crypto_resolve(handle, &table).map { String(cString: $0) }
            }
            guard rp_crypto_initialize(table) == 1 else {
                throw SystemLibrary.Failure(description: "could not initialize \(library.name)")
            }
            return .success(table)
        } catch {
            return .failure(error)
        }
    }

    package func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
        let functions = try functions()
        return try functions.result(of: algorithm) { type, result, size in
            data.withBytes { functions.digest($0.baseAddress, $0.count, result, size, type, nil) == 1 }
        }
    }

    package func authenticationCode(
        of data: Data, key: Data, with algorithm: HashAlgorithm
    ) throws(HashError) -> [UInt8] {
        let functions = try functions()
        // The library takes the length as an `int`; a longer key is replaced by its digest anyway (RFC 2104 §2).
        let key = key.count > 1 << 20 ? Data(try digest(of: key, with: algorithm)) : key
        return try functions.result(of: algorithm) { type, result, size in
            key.withBytes { key in
                data.withBytes { data in
                    functions.hmac(
                        type, key.baseAddress, Int32(key.count), data.bindMemory(to: UInt8.self).baseAddress,
                        data.count, result, size) != nil
                }
            }
        }
    }

    package func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash {
        try LibCryptoHash(functions(), algorithm)
    }
}

/// A hash of libcrypto whose input arrives in pieces.
private final class LibCryptoHash: IncrementalHash {
    private let functions: rp_crypto
    private let algorithm: HashAlgorithm
    private let context: UnsafeMutableRawPointer

    init(_ functions: rp_crypto, _ algorithm: HashAlgorithm) throws(HashError) {
        guard let context = functions.make() else { throw .unsupported(algorithm) }
        self.functions = functions
        self.algorithm = algorithm
        self.context = context
        guard functions.begin(context, functions.type(of: algorithm), nil) == 1 else {
            functions.clear_errors()
            throw .unsupported(algorithm)
        }
    }

    deinit { functions.destroy(context) }

    func update(_ data: Data) throws(HashError) {
        guard data.withBytes({ functions.update(context, $0.baseAddress, $0.count) }) == 1 else {
            functions.clear_errors()
            throw .unsupported(algorithm)
        }
    }

    func finish() throws(HashError) -> [UInt8] {
        try functions.result(of: algorithm) { _, result, size in functions.finish(context, result, size) == 1 }
    }
}

extension rp_crypto {
    fileprivate func type(of algorithm: HashAlgorithm) -> UnsafeRawPointer? {
        switch algorithm {
        case .md5: md5()
        case .sha1: sha1()
        case .sha256: sha256()
        case .sha512t256: sha512_256()
        }
    }

    /// Returns the bytes that `compute` writes.
    ///
    /// - Throws: ``HashError/unsupported(_:)`` if it returns false, as for MD5 in FIPS mode.
    fileprivate func result(
        of algorithm: HashAlgorithm,
        _ compute: (UnsafeRawPointer, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt32>) -> Bool
    ) throws(HashError) -> [UInt8] {
        guard let type = type(of: algorithm) else { throw .unsupported(algorithm) }
        var isComputed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: Int(rp_crypto_maximum)) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            var size: UInt32 = 0
            isComputed = compute(type, start, &size)
            count = isComputed ? Int(size) : 0
        }
        guard isComputed else {
            // An entry of the thread's queue would fail a later, unrelated call of the library.
            clear_errors()
            throw .unsupported(algorithm)
        }
        return bytes
    }
}

extension Data {
    /// Calls `body` with the bytes; the address is not nil even if there are none, because OpenSSL reads nil as a
    /// request to reuse an earlier value.
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes { bytes in
            if bytes.baseAddress != nil { return body(bytes) }
            return withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { memory in
                body(UnsafeRawBufferPointer(start: memory.baseAddress, count: 0))
            }
        }
    }
}
