import RequestsPOSIX
import RequestsSocket
import Synchronization
import TestSupport
import Testing

@Suite("System errors", .timeLimit(.minutes(10)))
struct FaultTests {
    @Test(
        "a failed transfer ends the call, and the connection is not reused", .rows("R-70"),
        arguments: [ResponseBody.Delivery.collected(limit: 1 << 20), .streamed])
    func everyTransfer(delivery: ResponseBody.Delivery) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest(bodyLength: 3) != nil { line.send(ok) }
        }
        var isComplete = false
        for number in 1..<100 where !isComplete {
            // The error is EPIPE (32); every error of a transfer ends the connection.
            let faults = TransferFaults(longestRead: 7, longestWrite: 60, .failTransfer(number), code: 32)
            let executor = SocketExecutor.with { $0.faults = faults }
            let request = try peer.request(.post, body: .bytes(Data("abc".utf8)), delivery: delivery)
            do throws(RequestError) {
                for _ in 0..<2 {
                    let response = try await executor.execute(request)
                    let text = try await response.stream?.collect()
                    #expect((response.text ?? text.map { String(decoding: $0, as: UTF8.self) }) == "ok")
                }
                isComplete = faults.transfers < number
            } catch {
                #expect(error.reason == .connectionLost)
            }
            #expect(executor.connections.open == executor.connections.idle)
        }
        #expect(isComplete)
    }

    @Test("without free descriptors the connection fails, and later calls succeed", .rows("R-57"))
    func shortage() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in line.respondToAll(ok) }
            let executor = SocketExecutor()
            _ = try await executor.execute(try peer.request())
            // Without this limit, a system with many descriptors has no shortage.
            #expect(DescriptorLimit.leave(64))
            var held: [HeldDescriptor] = []
            while let one = HeldDescriptor(), held.count < 100_000 { held.append(one) }
            #expect(held.count >= 32 && held.count < 100_000)
            let fresh = SocketExecutor()
            for _ in 0..<200 {
                let error = await fresh.failure(of: try peer.request())
                #expect(error?.reason == .connectionFailed)
                #expect((error?.underlying as? SystemError)?.isShortage == true)
                #expect(error?.mayHaveReachedServer == false)
                #expect(fresh.connections == (0, 0))
            }
            #expect(try await executor.execute(try peer.request()).metrics.isReusedConnection)
            held = []
            #expect(try await fresh.execute(try peer.request()).text == "ok")
        }
    }

    @Test("progress increases, and its last report contains all bytes", .rows("HT-6"))
    func progress() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest(bodyLength: 300_000) != nil {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
                line.send([UInt8](repeating: 97, count: 200_000))
            }
        }
        let reports = Mutex<[TransferProgress]>([])
        let request = try peer.request(.post, body: .bytes(Data(count: 300_000))).with {
            $0.progressHandler = { progress in reports.withLock { $0.append(progress) } }
        }
        _ = try await SocketExecutor().execute(request)
        let all = reports.withLock { $0 }
        #expect(
            all.last
                == TransferProgress(
                    bytesSent: 300_000, bytesExpectedToSend: 300_000, bytesReceived: 200_000,
                    bytesExpectedToReceive: 200_000))
        #expect(
            zip(all, all.dropFirst()).allSatisfy {
                $0.bytesSent <= $1.bytesSent && $0.bytesReceived <= $1.bytesReceived
            })
    }
}

/// An open descriptor.
final class HeldDescriptor: Sendable {
    private let socket: Socket

    /// Opens a descriptor; nil if the system has none left.
    init?() {
        guard let socket = try? Socket(for: .loopback()) else { return nil }
        self.socket = socket
    }
}
