import RequestsPOSIX
import RequestsSocket
import Synchronization
import Testing

@Suite("Faults of the system", .timeLimit(.minutes(5)))
struct FaultTests {
    @Test(
        "whichever transfer fails, the call ends, and the connection serves nobody else (R-70)",
        arguments: [Delivery.collected(limit: 1 << 20), .streamed])
    func everyTransfer(delivery: Delivery) async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest(bodyLength: 3) != nil { line.send(ok) }
        }
        var isThrough = false
        for number in 1..<100 where !isThrough {
            // 32 is EPIPE: the number does not matter, every error of a transfer is the connection's end.
            let faults = TransferFaults(longestRead: 7, longestWrite: 60, .failTransfer(number), code: 32)
            let executor = SocketExecutor.with { $0.faults = faults }
            let request = try peer.request(.post, body: .bytes(Data("abc".utf8)), delivery: delivery)
            do throws(RequestError) {
                for _ in 0..<2 {
                    let response = try await executor.execute(request)
                    let text = try await response.stream?.collect()
                    #expect((response.text ?? text.map { String(decoding: $0, as: UTF8.self) }) == "ok")
                }
                isThrough = faults.transfers < number
            } catch {
                #expect(error.reason == .connectionLost)
            }
            #expect(executor.connections.open == executor.connections.idle)
        }
        #expect(isThrough)
    }

    @Test("without free descriptors a call is a failed connection, and all is well afterwards (R-57)")
    func shortage() async {
        await #expect(processExitsWith: .success) {
            let peer = try ScriptedPeer { line, _, _ in line.answerAll(ok) }
            let executor = SocketExecutor()
            _ = try await executor.execute(try peer.request())
            var held: [HeldDescriptor] = []
            while let one = HeldDescriptor(), held.count < 100_000 { held.append(one) }
            let fresh = SocketExecutor()
            for _ in 0..<200 {
                let error = await fresh.failure(of: try peer.request())
                #expect(error?.reason == .connectionFailed)
                #expect((error?.underlying as? SystemError)?.isShortage == true)
                #expect(error?.mayHaveReachedServer == false)
                #expect(fresh.connections == (0, 0))
            }
            #expect(try await executor.execute(try peer.request()).metrics.reusedConnection)
            held = []
            #expect(try await fresh.execute(try peer.request()).text == "ok")
        }
    }

    @Test("a call tells how far it has come, and at its end all of it (HT-6)")
    func progress() async throws {
        let peer = try ScriptedPeer { line, _, _ in
            while line.receiveRequest(bodyLength: 300_000) != nil {
                line.send("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
                line.send([UInt8](repeating: 97, count: 200_000))
            }
        }
        let told = Mutex<[TransferProgress]>([])
        let request = try peer.request(.post, body: .bytes(Data(count: 300_000))).with {
            $0.onProgress = { progress in told.withLock { $0.append(progress) } }
        }
        _ = try await SocketExecutor().execute(request)
        let all = told.withLock { $0 }
        #expect(
            all.last
                == TransferProgress(sent: 300_000, totalToSend: 300_000, received: 200_000, totalToReceive: 200_000))
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.sent <= $1.sent && $0.received <= $1.received })
    }
}

/// Holds a descriptor; nil when the system has none left.
final class HeldDescriptor: Sendable {
    private let socket: Socket

    init?() {
        guard let socket = try? Socket(for: .loopback()) else { return nil }
        self.socket = socket
    }
}
