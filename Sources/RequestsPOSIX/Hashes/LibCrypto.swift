import CRequestsPOSIX
@_spi(Lock) package import Requests

/// The hash functions of OpenSSL's libcrypto, which is loaded when the first hash is computed.
package final class LibCrypto: HashProvider {
    /// The library of the system: version 3, otherwise 1.1.1.
    package static let shared = LibCrypto(
        SystemLibrary(
            name: "libcrypto", files: ["libcrypto.so.3", "libcrypto.so.1.1"],
            packages: "libssl3 (Debian, Ubuntu) or libcrypto3 (Alpine)"))

    private let loaded: Lock<Result<LoadedCrypto, SystemLibrary.Failure>?>
    private let library: SystemLibrary

    /// Creates a provider that loads `library` when it is first needed, and only once.
    package init(_ library: SystemLibrary) {
        self.library = library
        loaded = Lock(nil)
    }

    private func load() throws(HashError) -> LoadedCrypto {
        // The lock is held while the library is loaded, so it is initialized once.
        let result = loaded.withLock { loaded in
            if let loaded { return loaded }
            let result = Self.load(library)
            loaded = result
            return result
        }
        switch result {
        case .success(let crypto): return crypto
        case .failure(let failure): throw .libraryMissing(failure)
        }
    }

    private static func load(_ library: SystemLibrary) -> Result<LoadedCrypto, SystemLibrary.Failure> {
        // If the process has loaded the library before, other code may have initialized it, with its exit handler.
        let isShared = SystemLibrary.isLoaded(anyOf: library.files)
        do throws(SystemLibrary.Failure) {
            let table = try library.load(into: rp_crypto()) { handle, table in
                rp_crypto_resolve(handle, &table).map { String(cString: $0) }
            }
            // The handler that is registered last runs first, so the gate closes before the library frees anything.
            guard rp_crypto_initialize(table) == 1, !isShared || ExitGate.install() else {
                throw SystemLibrary.Failure(description: "could not initialize \(library.name)")
            }
            return .success(LoadedCrypto(functions: table, isShared: isShared))
        } catch {
            return .failure(error)
        }
    }

    package func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
        try load().use { (functions) throws(HashError) in try functions.digest(of: data, with: algorithm) }
    }

    package func authenticationCode(
        of data: Data, key: Data, with algorithm: HashAlgorithm
    ) throws(HashError) -> [UInt8] {
        try load().use { (functions) throws(HashError) in
            // The library takes the length as an `int`; a longer key is replaced by its digest anyway (RFC 2104 §2).
            let key = key.count > 1 << 20 ? Data(try functions.digest(of: key, with: algorithm)) : key
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
    }

    package func makeHash(with algorithm: HashAlgorithm) throws(HashError) -> any IncrementalHash {
        try LibCryptoHash(load(), algorithm)
    }
}

/// The functions of a libcrypto that has been loaded and initialized.
private struct LoadedCrypto: Sendable {
    let functions: rp_crypto
    /// Whether the process had already loaded the library, so that an exit may free memory in use (decision 0042).
    let isShared: Bool

    /// Calls `body` and returns its result; if necessary, an exit of the process waits until `body` has ended.
    ///
    /// - Throws: The error of `body`, or ``HashError/libraryMissing(_:)`` while the process exits.
    func use<Result>(_ body: (rp_crypto) throws(HashError) -> Result) throws(HashError) -> Result {
        guard isShared else { return try body(functions) }
        guard ExitGate.enter() else {
            throw .libraryMissing(SystemLibrary.Failure(description: "could not use libcrypto: the process is exiting"))
        }
        defer { ExitGate.leave() }
        return try body(functions)
    }
}

/// A hash of libcrypto whose input arrives in pieces.
private final class LibCryptoHash: IncrementalHash {
    private let crypto: LoadedCrypto
    private let algorithm: HashAlgorithm
    private let context: UnsafeMutableRawPointer

    init(_ crypto: LoadedCrypto, _ algorithm: HashAlgorithm) throws(HashError) {
        self.crypto = crypto
        self.algorithm = algorithm
        context = try crypto.use { (functions) throws(HashError) in
            guard let context = functions.make() else { throw .unsupported(algorithm) }
            guard functions.begin(context, functions.type(of: algorithm), nil) == 1 else {
                functions.destroy(context)
                functions.clear_errors()
                throw .unsupported(algorithm)
            }
            return context
        }
    }

    // While the process exits, the context is not freed.
    deinit { try? crypto.use { $0.destroy(context) } }

    func update(_ data: Data) throws(HashError) {
        try crypto.use { (functions) throws(HashError) in
            guard data.withBytes({ functions.update(context, $0.baseAddress, $0.count) }) == 1 else {
                functions.clear_errors()
                throw .unsupported(algorithm)
            }
        }
    }

    func finish() throws(HashError) -> [UInt8] {
        try crypto.use { (functions) throws(HashError) in
            try functions.result(of: algorithm) { _, result, size in functions.finish(context, result, size) == 1 }
        }
    }
}

extension rp_crypto {
    fileprivate func digest(of data: Data, with algorithm: HashAlgorithm) throws(HashError) -> [UInt8] {
        try result(of: algorithm) { type, result, size in
            data.withBytes { self.digest($0.baseAddress, $0.count, result, size, type, nil) == 1 }
        }
    }

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
    /// Calls `body` with the bytes.
    ///
    /// The address is not nil even if there are none, because OpenSSL reads nil as a request to reuse an earlier value.
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes { bytes in
            if bytes.baseAddress != nil { return body(bytes) }
            return withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { memory in
                body(UnsafeRawBufferPointer(start: memory.baseAddress, count: 0))
            }
        }
    }
}
