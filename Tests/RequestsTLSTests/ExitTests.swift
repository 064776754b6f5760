import Foundation
import TestCorpora
import TestSupport
import Testing

@Suite("TLS: the end of a process", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment), .timeLimit(.minutes(10)))
struct TLSExitTests {
    @Test("a program that exits during handshakes and transfers ends cleanly", .rows("S-57"))
    func exits() throws {
        try run(Sample.count(8, of: 30))
    }

    static let libcurl = "libcurl.so.4"

    @Test(
        "a program whose libcurl has initialized OpenSSL first ends as cleanly", .rows("S-57"),
        .enabled(if: dlopen(libcurl, RTLD_LAZY) != nil, "libcurl is not installed"))
    func exitsWithLibcurl() throws {
        try run(Sample.count(8, of: 60), Self.libcurl)
    }

    @Test(
        "a forked child that exits while it computes hashes ends as cleanly", .rows("S-57"),
        .enabled(if: dlopen(libcurl, RTLD_LAZY) != nil, "libcurl is not installed"))
    func exitsOfChildren() throws {
        try run(Sample.count(12, of: 60), Self.libcurl, "fork")
    }

    private func run(_ count: Int, _ arguments: String...) throws {
        for round in 0..<count {
            let process = Process()
            process.arguments = arguments
            process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
                .deletingLastPathComponent().appending(path: "requests-tls-exit")
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 0, "round \(round)")
        }
    }
}
