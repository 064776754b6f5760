#if os(Linux)
import CRequestsPOSIX
import RequestsPOSIX
import RequestsSocket
import TestSupport
import Testing

/// The test changes the user of the process, so it runs in a child process.
@Suite("Permission", .timeLimit(.minutes(10)))
struct PermissionTests {
    @Test("a unix socket without permission is a failed connection with its cause", .rows("R-59"))
    func forbidden() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryDirectory()
            let path = folder.path(of: "socket")
            let peer = try ScriptedPeer(on: try SocketAddress(unixPath: path)) { line, _, _ in line.respondToAll(ok) }
            let executor = SocketExecutor(.unix(path: path))
            let request = try peer.request()
            #expect(try await executor.execute(request).text == "ok")
            chmod(path, 0)
            // The superuser has permission for every socket.
            let isSuperuser = geteuid() == 0
            if isSuperuser { #expect(seteuid(65534) == 0) }
            let error = await SocketExecutor(.unix(path: path)).failure(of: request)
            if isSuperuser { #expect(seteuid(0) == 0) }
            #expect(error?.reason == .connectionFailed)
            #expect((error?.underlying as? SystemError)?.isNotPermitted == true)
            #expect(error?.mayHaveReachedServer == false)
            #expect(peer.connections == 1)
            withExtendedLifetime(folder) {}
        }
    }
}
#endif
