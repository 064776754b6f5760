import Requests
import RequestsPOSIX
import RequestsTLS
import TestSupport
import Testing

@Suite("TLS: the library")
struct TLSLibraryTests {
    func failure(of library: TLSLibrary) -> TLSError? {
        let context = TLSContext(client: TLSConfiguration(), library: library)
        let error = #expect(throws: TLSError.self) { try context.prepare() }
        #expect(error?.problem == .unavailable)
        return error
    }

    @Test("a missing library is an error that names the packages to install", .rows("S-52"))
    func missing() {
        let library = SystemLibrary(
            name: "libssl", files: ["libssl-none.so.3", "/none/libssl.so.1.1"], packages: "libssl3")
        let error = failure(of: TLSLibrary(library))
        #expect(
            error?.detail.hasPrefix("could not load libssl: libssl-none.so.3: cannot open") == true)
        #expect(error?.detail.hasSuffix("install libssl3") == true)
        let paths = failure(of: TLSLibrary(cryptoFile: "/none/libcrypto.so.3", sslFile: "/none/libssl.so.3"))
        #expect(paths?.detail.contains("/none/libcrypto.so.3") == true)
        #expect(paths?.detail.contains("openssl-libs (Fedora, RHEL, Amazon Linux)") == true)
    }

    @Test("a library without a function of the table is an error that names the function", .rows("S-52"))
    func missingFunction() {
        let library = SystemLibrary(name: "libssl", files: ["libm.so.6", "libdl.so.2"], packages: "libssl3")
        let error = failure(of: TLSLibrary(library))
        #expect(error?.detail.contains("libm.so.6 has no function OPENSSL_init_crypto") == true)
        #expect(error?.detail.contains("install libssl3") == true)
    }

    @Test(
        "only versions 1.1.1 and 3 are used", .rows("S-52"),
        arguments: [
            (0x1000_2000, false), (0x1010_0000, false), (0x1010_1000, true), (0x1010_117F, true), (0x2000_0000, false),
            (0x3000_0000, true), (0x3000_0130, true), (0x3050_0000, true), (0x4000_0000, false),
        ] as [(UInt, Bool)])
    func versions(version: UInt, isSupported: Bool) {
        #expect(TLSLibrary.isSupported(version: version) == isSupported)
    }

    @Test("a context loads nothing before it is prepared")
    func lazy() {
        // Its library does not exist, and creating it is not an error.
        let library = TLSLibrary(SystemLibrary(name: "libssl", files: ["libssl-none.so.3"], packages: "libssl3"))
        let context = TLSContext(client: TLSConfiguration(trust: .certificates(atPath: "/none")), library: library)
        #expect(context.sessions.count == 0)
        #expect(throws: TLSError.self) { try context.prepare() }
    }

    @Test("a process uses one library", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment))
    func oneLibrary() throws {
        let version = try #require(TLSSupport.library.version)
        // Descriptions of the same files share the library; another one is refused.
        let again = TLSLibrary(SystemLibrary(name: "libssl", files: TestTLS.files, packages: "libssl3"))
        #expect(again.version == version)
        let others = ["libssl.so.3", "libssl.so.1.1"].filter { !TestTLS.files.contains($0) }
        let other = TLSLibrary(SystemLibrary(name: "libssl", files: others, packages: "libssl3"))
        let error = #expect(throws: TLSError.self) { try other.check() }
        #expect(error?.problem == .unavailable)
    }
}
