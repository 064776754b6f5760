internal import CRequestsPOSIX
package import RequestsTLS

/// The OpenSSL that tests use: the system's, unless REQUESTS_TEST_TLS in the environment names another one, as the
/// paths of libcrypto and libssl with a colon between them.
package enum TestTLS {
    private static let paths = getenv("REQUESTS_TEST_TLS").map {
        String(cString: $0).split(separator: ":").map(String.init)
    }

    /// The library, which the process uses from then on.
    package static let library: TLSLibrary = {
        guard let paths, let crypto = paths.first, let ssl = paths.last else { return .shared }
        let library = TLSLibrary(cryptoFile: crypto, sslFile: ssl)
        TLSLibrary.use(library)
        return library
    }()

    /// The names of its libssl.
    package static let files = paths.map { Array($0.suffix(1)) } ?? ["libssl.so.3", "libssl.so.1.1"]

    /// Whether it is installed; conditions of suites use this, so that the library is chosen before the first test.
    package static let isAvailable = library.version != nil
}
