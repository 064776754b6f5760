import Foundation
import Testing

@Suite("TLS: the end of a process", .enabled(if: TLSSupport.isAvailable, TLSSupport.comment), .timeLimit(.minutes(10)))
struct TLSExitTests {
    @Test("a program that exits during handshakes and transfers ends cleanly (S-57)")
    func exits() throws {
        for round in 0..<30 {
            let process = Process()
            process.executableURL = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
                .deletingLastPathComponent().appending(path: "requests-tls-exit")
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            #expect(process.terminationReason == .exit && process.terminationStatus == 0, "round \(round)")
        }
    }
}
