import Requests
import RequestsHTTP2
import TestCorpora
import TestSupport
import Testing

@Suite("HTTP/2: table of streams")
struct StreamTableTests {
    @Test("every frame reaches its stream, whichever streams have ended", .rows("H-24"))
    func lookup() {
        var random = SplitMix64(state: Mutator.seed)
        var peer = HTTP2Peer(settings: [(3, 100_000)])
        var open: [StreamID] = []
        var next: StreamID = 1
        for _ in 0..<5_000 {
            if open.count < 3 || open.count < 60 && Bool.random(using: &random) {
                peer.open()
                open.append(next)
                next += 2
            }
            // Mostly young streams end, so that numbers far apart share the table.
            let position =
                Bool.random(using: &random) ? open.count - 1 : open.indices.randomElement(using: &random) ?? 0
            guard Bool.random(using: &random) || position > 2 else { continue }
            let stream = open.remove(at: position)
            peer.receive(WireFrame.headers(Block.status("204"), on: stream, ends: true))
            #expect(peer.takeLog() == ["\(stream) head 204", "\(stream) ended"])
            #expect(peer.state.streamCount == open.count)
            _ = peer.sent()
        }
        for stream in open {
            peer.receive(WireFrame.headers(Block.status("204"), on: stream, ends: true))
            #expect(peer.takeLog() == ["\(stream) head 204", "\(stream) ended"])
        }
        #expect(peer.state.streamCount == 0 && peer.error == nil)
    }

    @Test("cancelling a stream after any byte of its response does not affect other streams", .rows("H-24"))
    func cancelledAtEveryByte() {
        let end = WireFrame.headers(Block.of([("x", "y")]), on: 1, ends: true)
        let response =
            WireFrame.headers(Block.status("103"), on: 1) + WireFrame.headers(Block.status("200"), on: 3)
            + WireFrame.headers(Block.status("200"), on: 1) + WireFrame.paddedData([1, 2, 3], padding: 2, on: 1)
            + WireFrame.data([4], on: 3) + end + WireFrame.data([5], on: 3, ends: true)
        let neighbour = WireFrame.data([5], on: 3, ends: true).count
        for isUploading in [false, true] {
            for cut in 0...response.count {
                var peer = HTTP2Peer()
                peer.open(endsStream: !isUploading)
                peer.open()
                _ = peer.sent()
                peer.receive(Array(response[..<cut]))
                peer.state.reset(peer.slot(1), .cancel, at: peer.now)
                peer.receive(Array(response[cut...]))
                // A stream that both sides have ended is not reset.
                let hasEnded = !isUploading && cut >= response.count - neighbour
                #expect(peer.sent() == (hasEnded ? [] : [.resetStream(1, .cancel)]), "\(cut)")
                let log = peer.takeLog().filter { $0.hasPrefix("3") }
                #expect(log.first == "3 head 200" && log.last == "3 ended", "\(cut)")
                #expect(peer.error == nil && peer.state.streamCount == 0, "\(cut)")
            }
        }
    }

    @Test("the slot of a stream that has ended never refers to a later stream", .rows("H-24"))
    func staleSlots() {
        var peer = HTTP2Peer()
        peer.open(endsStream: false)
        let stale = peer.slot(1)
        peer.state.reset(stale, .cancel, at: peer.now)
        peer.open(endsStream: false)
        #expect(peer.slot(3).index == stale.index)
        _ = peer.sent()
        peer.state.reset(stale, .cancel, at: peer.now)
        peer.state.end(stale)
        peer.state.consumed(stale, 100_000, at: peer.now)
        #expect(peer.state.write(stale, 10) == 0)
        #expect(peer.sent() == [])
        #expect(peer.state.write(peer.slot(3), 10) == 10)
    }
}
