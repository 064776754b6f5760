import CRequestsPOSIX
@_spi(Lock) import Requests
package import RequestsPOSIX

/// OpenSSL's libssl and libcrypto, which are loaded when the first connection needs them, and never unloaded.
package final class TLSLibrary: Sendable {
    /// The library of the process: the system's, unless ``use(_:)`` has chosen another one.
    package static var shared: TLSLibrary { chosen.withLock { $0 } ?? system }

    /// Makes the process use `library`, as in tests of another version; call it before the first connection.
    package static func use(_ library: TLSLibrary) { chosen.withLock { $0 = library } }

    private static let chosen = Lock<TLSLibrary?>(nil)

    /// The libraries of the system: version 3, otherwise 1.1.1.
    private static let system = TLSLibrary(
        SystemLibrary(name: "libssl", files: ["libssl.so.3", "libssl.so.1.1"], packages: packages))

    /// The packages with libssl, as a phrase.
    package static let packages = "libssl3 (Debian, Ubuntu, Alpine) or openssl-libs (Fedora, RHEL, Amazon Linux)"

    private let library: SystemLibrary
    private let cryptoFile: String?
    private let result = Lock<Result<LoadedTLS, TLSError>?>(nil)

    /// Creates a description of the library at explicit paths; nothing is loaded.
    ///
    /// - Parameters:
    ///   - cryptoFile: The path of libcrypto, which is loaded first, so that libssl uses it.
    ///   - sslFile: The path of libssl.
    package convenience init(cryptoFile: String, sslFile: String) {
        self.init(
            SystemLibrary(name: "libssl", files: [sslFile], packages: Self.packages), cryptoFile: cryptoFile)
    }

    /// Creates a description of the libssl `library` and of the libcrypto that it depends on.
    package init(_ library: SystemLibrary, cryptoFile: String? = nil) {
        self.library = library
        self.cryptoFile = cryptoFile
    }

    /// Returns the functions of the library, and loads it the first time.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/unavailable`` and the packages to install.
    func functions() throws(TLSError) -> LoadedTLS {
        // The lock is held while the library is loaded, so it is initialized once.
        let result = result.withLock { result in
            if let result { return result }
            let loaded = load()
            result = loaded
            return loaded
        }
        return try result.get()
    }

    /// Throws ``TLSError`` unless the library can be used; loads it the first time.
    package func check() throws(TLSError) {
        _ = try functions()
    }

    /// The version of the library, such as `OpenSSL 3.0.19 27 Jan 2026`; nil if it is unavailable.
    package var version: String? {
        guard let tls = try? functions().tls, let text = tls.pointee.OpenSSL_version(0) else { return nil }
        return String(cString: text)
    }

    private func load() -> Result<LoadedTLS, TLSError> {
        guard rp_tls_is_supported() == 1 else {
            return .failure(TLSError(.unavailable, "SocketExecutor supports TLS on Linux only; use URLSessionExecutor"))
        }
        // If the process has loaded libcrypto before, other code may have initialized it, with its exit handler.
        let isShared = SystemLibrary.isLoaded(anyOf: Self.cryptoNames + [cryptoFile].compactMap(\.self))
        if let cryptoFile, rp_library_open(cryptoFile) == nil {
            let reason = rp_library_error().map { String(cString: $0) } ?? "could not open \(cryptoFile)"
            let detail = "could not load libcrypto: \(reason); install \(Self.packages)"
            return .failure(TLSError(.unavailable, detail))
        }
        do throws(SystemLibrary.Failure) {
            let table = try library.load(into: rp_tls()) { handle, table in
                rp_tls_resolve(handle, &table).map { String(cString: $0) }
            }
            return Self.initialized(table, isShared: isShared)
        } catch {
            return .failure(TLSError(.unavailable, error.description))
        }
    }

    private static let cryptoNames = ["libcrypto.so.3", "libcrypto.so.1.1"]

    /// Returns whether a version has the interface that the table declares: 1.1.1, or 3.
    package static func isSupported(version: UInt) -> Bool {
        version >= 0x1010_1000 && version < 0x1020_0000 || version >> 28 == 3
    }

    private static func initialized(_ functions: rp_tls, isShared: Bool) -> Result<LoadedTLS, TLSError> {
        let version = functions.OpenSSL_version_num()
        guard isSupported(version: version) else {
            let found = functions.OpenSSL_version(0).map { String(cString: $0) } ?? String(version, radix: 16)
            let detail = "unsupported libssl version \(found); install version 3 or 1.1.1: \(packages)"
            return .failure(TLSError(.unavailable, detail))
        }
        return inUse.withLock { inUse -> Result<LoadedTLS, TLSError> in
            if let inUse {
                // The callbacks find the functions of one library (tls.h).
                let isSame = inUse.tls.pointee.isSameLibrary(as: functions)
                let detail = "this process already uses another libssl"
                return isSame ? .success(inUse) : .failure(TLSError(.unavailable, detail))
            }
            let table = UnsafeMutablePointer<rp_tls>.allocate(capacity: 1)
            table.initialize(to: functions)
            let callbacks = UnsafeMutablePointer<rp_tls_callbacks>.allocate(capacity: 1)
            // The gate comes second: exit handlers run in reverse, so it closes before the library's handler runs.
            guard rp_tls_initialize(table) == 1, !isShared || ExitGate.install() else {
                return .failure(TLSError(.unavailable, "could not initialize libssl"))
            }
            callbacks.initialize(to: rp_tls_callbacks_make(table))
            guard callbacks.pointee.method != nil else {
                return .failure(TLSError(.unavailable, "out of memory"))
            }
            let loaded = LoadedTLS(
                table: SharedPointer(address: table), callbackTable: SharedPointer(address: callbacks),
                isVersion3: version >> 28 == 3, isShared: isShared)
            inUse = loaded
            return .success(loaded)
        }
    }

    private static let inUse = Lock<LoadedTLS?>(nil)
}

/// The functions of a library that has been loaded and initialized.
struct LoadedTLS: Sendable {
    fileprivate let table: SharedPointer
    fileprivate let callbackTable: SharedPointer
    /// Whether this is version 3 and not 1.1.1.
    let isVersion3: Bool
    /// Whether the process had loaded libcrypto before, so that an exit may free memory that connections use.
    let isShared: Bool

    /// The table of functions, which stays in memory.
    var tls: UnsafePointer<rp_tls> { UnsafePointer(table.address.assumingMemoryBound(to: rp_tls.self)) }

    /// The callbacks of every connection.
    var callbacks: rp_tls_callbacks { callbackTable.address.assumingMemoryBound(to: rp_tls_callbacks.self).pointee }
}

// MARK: The exit of the process

extension LoadedTLS {
    /// Begins a use of the library by this thread, which ``leave()`` ends; uses may be nested.
    ///
    /// - Throws: ``TLSError`` with ``TLSError/Problem/unavailable`` while the process exits.
    func enter() throws(TLSError) {
        guard isShared, !ExitGate.enter() else { return }
        throw TLSError(.unavailable, "the process is exiting")
    }

    /// Ends a use of the library.
    func leave() {
        if isShared { ExitGate.leave() }
    }

    /// Releases objects of the library with `body`; while the process exits, they stay in memory.
    func release(_ body: (rp_tls) -> Void) {
        guard (try? enter()) != nil else { return }
        body(tls.pointee)
        leave()
    }
}

extension rp_tls {
    fileprivate func isSameLibrary(as other: rp_tls) -> Bool {
        // The address of one function is enough: a library has each function once.
        unsafeBitCast(SSL_new, to: UInt.self) == unsafeBitCast(other.SSL_new, to: UInt.self)  // both are addresses
    }
}
