import Foundation
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
}
