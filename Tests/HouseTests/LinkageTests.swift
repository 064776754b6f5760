import Foundation
import TestSupport
import Testing

@Suite("Linkage")
struct LinkageTests {
    @Test("a program that uses only sockets does not link FoundationNetworking, ICU or libcurl")
    func socketOnly() throws {
        let program = Repository.products.appending(path: "requests-socket-only").path
        let linked = try Outcome.running("/usr/bin/env", ["ldd", program])
        try #require(linked.status == 0, "ldd: \(linked.output)")
        #expect(linked.output.contains("libFoundationEssentials"))
        for name in [
            "libFoundationNetworking", "libFoundation.so", "libFoundationInternationalization", "icu", "libcurl",
        ] {
            #expect(!linked.output.contains(name), "\(name)\n\(linked.output)")
        }
    }

    @Test(
        "where libssl is missing, https is an error that names the package, before anything is sent", .rows("S-52"),
        .enabled(if: MissingLibssl.isPossible, "the system permits no mounts"))
    func withoutLibssl() throws {
        let program = Repository.products.appending(path: "requests-socket-only").path
        // Nothing listens there; a connection would be refused.
        let failed = try MissingLibssl.run("\(program) https://127.0.0.1:1/")
        #expect(failed.status != 0)
        #expect(failed.output.contains("TLS is unavailable: could not load libssl: "), "\(failed.output)")
        #expect(failed.output.contains("install libssl3 (Debian, Ubuntu, Alpine)"), "\(failed.output)")
        // Without https, the program needs no libssl.
        let plain = try MissingLibssl.run("\(program) http://127.0.0.1:1/")
        #expect(plain.output.contains("could not connect"), "\(plain.output)")
    }

    @Test("no header of a library that is loaded at run time is included")
    func headers() throws {
        let headers = try Repository.here.headers()
        try #require(!headers.isEmpty)
        for header in headers {
            for name in ["<openssl/", "<zlib.h", "<brotli/", "<zstd.h", "<libpsl.h"] {
                #expect(!header.text.contains(name), "\(header.path) includes \(name)")
            }
        }
    }

    @Test("a program that requests no https does not load libssl and libcrypto", .enabled(if: isLinux))
    func loadsNothing() throws {
        let program = Repository.products.appending(path: "requests-socket-only").path
        let environment = ["LD_DEBUG=files", "SWIFT_BACKTRACE=enable=no", program]
        let plain = try Outcome.running("/usr/bin/env", environment + ["http://127.0.0.1:1/"])
        #expect(plain.output.contains("file=libswiftCore.so"))
        #expect(!plain.output.contains("file=libssl.so") && !plain.output.contains("file=libcrypto.so"))
        // The loader reports them if they are loaded, or looked for.
        let secured = try Outcome.running("/usr/bin/env", environment + ["https://127.0.0.1:1/"])
        #expect(secured.output.contains("file=libssl.so.3"))
    }

    #if os(Linux)
    private static let isLinux = true
    #else
    private static let isLinux = false
    #endif
}

/// A system without libssl.
enum MissingLibssl {
    /// Runs `command` in a mount namespace where every libssl of the system is an empty file.
    static func run(_ command: String) throws -> Outcome {
        let hide = """
            for file in $(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n 's/.*libssl\\.so.* => //p'); do
                mount --bind /dev/null "$file" || exit 9
            done
            SWIFT_BACKTRACE=enable=no exec \(command)
            """
        return try Outcome.running("/usr/bin/env", ["unshare", "-rm", "sh", "-c", hide])
    }

    /// Whether the system permits it.
    static let isPossible = (try? run("true"))?.status == 0
}
