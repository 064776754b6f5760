import Requests
import RequestsHTTP2
import RequestsSocket
import TestSupport
import Testing

@Suite("HTTP/2: excluded requests")
struct ExclusionTests {
    /// Returns, for each of `refusals` in turn, whether `request` may be sent again after it.
    private static func transmissions(
        of request: PreparedRequest, endingWith refusals: [StreamRefusal]
    ) throws -> [Bool] {
        var steps = try ExchangeSteps(request, [.end], refusal: refusals[0])
        var allowed: [Bool] = []
        for number in refusals.indices {
            let lost = try steps.lose().lost
            allowed.append(lost.allowsAnother(of: request))
            var carrier = ScriptedCarrier([.end])
            carrier.refusal = number + 1 < refusals.count ? refusals[number + 1] : nil
            steps = steps.transmitting(on: carrier, after: lost)
        }
        return allowed
    }

    @Test(
        "transmissions that the server has excluded do not count towards the three of other failures",
        .rows("H-20", "H-21"))
    func attempts() throws {
        let refusals = [StreamRefusal](repeating: .excluded, count: 4) + [.unprocessed, .unprocessed, .unprocessed]
        let allowed = try Self.transmissions(of: .example(.post), endingWith: refusals)
        #expect(allowed == [true, true, true, true, true, true, false])
    }

    @Test(
        "a refusal before the settings of the server are known does not count towards the three transmissions",
        .rows("H-21"))
    func earlyRefusal() async throws {
        for refusals in [3, 4] {
            let peer = try ScriptedPeer.refusing(refusals) { script, line in
                // The client sends its first request before it has received anything.
                script.receive(from: line)
            }
            let executor = SocketExecutor.http2()
            let request = try peer.request(.post)
            if refusals == 3 {
                #expect(try await executor.execute(request).metrics.transmissions == 4)
            } else {
                #expect(await executor.failure(of: request)?.detail?.contains("REFUSED_STREAM") == true)
            }
            #expect(peer.notes.count == 4 && peer.connections == 1)
        }
    }

    @Test("after the first-byte limit of the call, an excluded request has three transmissions", .rows("H-20"))
    func late() throws {
        let request = try PreparedRequest.example(.post).with { $0.timeouts.firstByte = .nanoseconds(1) }
        let allowed = try Self.transmissions(of: request, endingWith: [.excluded, .excluded, .excluded])
        #expect(allowed == [true, true, false])
    }

    @Test("an excluded request has at most 100 transmissions", .rows("H-20"))
    func limit() throws {
        let request = try PreparedRequest.example(.post).patient()
        let refusals = [StreamRefusal](repeating: .excluded, count: 100)
        let allowed = try Self.transmissions(of: request, endingWith: refusals)
        #expect(allowed == [Bool](repeating: true, count: 99) + [false])
    }
}
