@_spi(Lock) import Requests
import RequestsHTTP2
import RequestsMock
import TestCorpora
import TestSupport
import Testing

@testable import RequestsTestServer

@Suite("Test server: hostile HTTP/2 clients", .tags(.concurrent), .timeLimit(.minutes(10)))
struct HTTP2HostileTests {
    private static let beginning: [UInt8] = {
        var writer = FrameWriter()
        writer.preface()
        writer.settings([])
        return writer.bytes
    }()

    private static let fields: OutgoingFields = {
        var fields = OutgoingFields()
        for (name, value) in [(":method", "PUT"), (":scheme", "http"), (":authority", "a"), (":path", "/")] {
            fields.append(name, value)
        }
        return fields
    }()

    private static let head: [UInt8] = {
        var encoder = HPACKEncoder()
        var block: [UInt8] = []
        encoder.encode(fields, into: &block)
        return block
    }()

    private static let request: [UInt8] = {
        var writer = FrameWriter()
        writer.headers(head, on: 1, endsStream: false)
        writer.data(4, on: 1, endsStream: true)
        return writer.bytes + Array("body".utf8)
    }()

    @Test("random and mutated frames, cut anywhere, leave the server able to serve others", .rows("R-73"))
    func randomFrames() async throws {
        try await withTestServer(serving: MockExecutor(.ok("a")), using: .http2) { server in
            var random = SplitMix64(state: 1)
            for _ in 0..<500 {
                var bytes = Self.beginning + Self.request
                for _ in 0..<Int.random(in: 0...6, using: &random) {
                    let position = Int.random(in: 24..<bytes.count, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: bytes[position] = UInt8.random(in: 0...255, using: &random)
                    case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: position)
                    default: bytes.removeSubrange(position..<min(bytes.count, position + 9))
                    }
                }
                let client = try await RawClient(server)
                try? await client.send(Array(bytes.prefix(Int.random(in: 0...2 * bytes.count, using: &random))))
            }
            try await server.waitUntil { $0.openConnections == 0 && $0.openStreams == 0 }
            var client = try await HTTP2Client(server)
            let get = client.open("GET", "/")
            try await client.receiveAll()
            #expect(client[get].text == "a")
        }
    }

    @Test("a client that resets its streams as soon as it has opened them is disconnected", .rows("R-73", "H-27"))
    func rapidReset() async throws {
        let mock = MockExecutor(.ok().delayed(by: .endless))
        try await withTestServer(serving: mock, using: .http2) { server in
            let client = try await RawClient(server)
            var writer = FrameWriter()
            var block: [UInt8] = []
            var encoder = HPACKEncoder()
            for stream in stride(from: StreamID(1), to: 2_400, by: 2) {
                block.removeAll()
                encoder.encode(Self.fields, into: &block)
                writer.headers(block, on: stream, endsStream: true)
                writer.resetStream(stream, .cancel)
            }
            try await client.send(Self.beginning)
            // The server may close the connection before it has read everything.
            try? await client.send(writer.bytes)
            let received = try await client.receiveBytes()
            var reader = FrameReader(.client)
            var (position, codes) = (0, [HTTP2ErrorCode]())
            while let frame = try reader.next(in: received.span, at: &position) {
                if case .goAway(let goAway) = frame { codes.append(goAway.code) }
            }
            #expect(codes == [.enhanceYourCalm])
            try await server.waitUntil { $0.openStreams == 0 }
        }
    }

    @Test("acknowledgements for a client that does not read are bounded", .rows("R-73"))
    func acknowledgements() throws {
        let connection = try HTTP2Connection(HTTP2Limits(), closingAfter: .max, onStreams: { _ in })
        var writer = FrameWriter()
        for _ in 0..<500 { writer.ping([1, 2, 3, 4, 5, 6, 7, 8], isAcknowledgement: false) }
        _ = connection.receive(Self.beginning)
        var count = 0
        while case .transfer(_, acceptsInput: true, _) = connection.nextStep(hasArrivals: false), count < 10_000 {
            _ = connection.receive(writer.bytes)
            count += 1
        }
        #expect(count == (256 << 10) / writer.bytes.count + 1)
        connection.recordSent(connection.nextOutput.count)
        guard case .transfer(true, acceptsInput: true, _) = connection.nextStep(hasArrivals: false) else {
            Issue.record("the connection does not read on")
            return
        }
    }

    @Test(
        "streams beyond the limit for all connections are refused, and bodies beyond theirs receive 503", .rows("R-73"))
    func limits() async throws {
        var limits = TestServer.Limits()
        limits.streams = 3
        limits.totalBodyBytes = 1_000
        let mock = MockExecutor { request in
            request.target.path == "/held" ? .ok().delayed(by: .endless) : .ok()
        }
        try await withTestServer(serving: mock, using: .http2, limits: limits) { server in
            var first = try await HTTP2Client(server)
            for _ in 0..<2 { _ = first.open("GET", "/held") }
            try await first.flush()
            try await server.waitUntil { $0.openStreams == 2 }
            var second = try await HTTP2Client(server)
            second.sendsBodies = false
            let put = second.open("PUT", "/", body: [UInt8](repeating: 0, count: 1_001))
            try await second.flush()
            try await server.waitUntil { $0.openStreams == 3 }
            let refused = second.open("GET", "/")
            try await second.receive { $0[refused].isOver }
            second.sendsBodies = true
            try await second.receiveAll()
            #expect(second[put].status == 503)
            #expect(second[refused].reset?.code == .refusedStream && second[refused].reset?.isUnprocessed == true)
            let small = second.open("PUT", "/", body: [UInt8](repeating: 0, count: 1_000))
            try await second.receiveAll()
            #expect(second[small].status == 200)
        }
    }

    @Test("a handler that ignores the reset of its stream counts until it has returned", .rows("R-73"))
    func ignoredResets() async throws {
        var limits = TestServer.Limits()
        limits.streams = 3
        let gate = HandlerGate()
        let mock = MockExecutor { request in
            if request.target.path == "/held" { await gate.suspend() }
            return .ok()
        }
        try await withTestServer(serving: mock, using: .http2, limits: limits) { server in
            // Also if an expectation fails, because the server waits for its handlers.
            defer { gate.open() }
            var client = try await HTTP2Client(server)
            let held = (0..<3).map { _ in client.open("GET", "/held") }
            try await client.flush()
            while gate.arrived < 3 { await Task.yield() }
            for stream in held { client.reset(stream) }
            try await client.flush()
            try await server.waitUntil { $0.openStreams == 0 }
            let refused = client.open("GET", "/")
            try await client.receive { $0[refused].isOver }
            #expect(client[refused].reset?.isUnprocessed == true && client[refused].status == nil)
            gate.open()
            // The handlers return soon, but a client does not know when.
            while true {
                var client = try await HTTP2Client(server)
                let get = client.open("GET", "/")
                try await client.receiveAll()
                if client[get].status == 200 { break }
            }
        }
    }

    @Test("the end of a stream is reported only after its events were handled", .rows("R-73"))
    func handledEnds() throws {
        let reports = Lock<[[Int]]>([])
        let connection = try HTTP2Connection(HTTP2Limits(), closingAfter: .max) { change in
            reports.withLock { $0.append([change.difference, change.maximum]) }
        }
        var writer = FrameWriter()
        writer.headers(Self.head, on: 1, endsStream: true)
        _ = connection.receive(Self.beginning + writer.bytes)
        connection.recordHandled()
        writer.replaceAll(with: [])
        writer.resetStream(1, .cancel)
        _ = connection.receive(writer.bytes)
        // An exchange of another stream.
        connection.send([])
        #expect(reports.withLock { $0 } == [[1, 1]])
        connection.recordHandled()
        #expect(reports.withLock { $0 } == [[1, 1], [-1, 1]])
    }

    @Test("an early response that cannot be written ends when its request is refused", .rows("R-73"))
    func refusedEarlyResponse() async throws {
        var limits = TestServer.Limits(bodyBytes: 3)
        limits.drainTime = .milliseconds(10)
        var behavior = TestServer.Behavior.standard
        behavior.earlyResponse = .init(413, announcesClose: true)
        try await withTestServer(serving: MockExecutor(.ok()), using: .http2, limits: limits, behaving: behavior) {
            server in
            let client = try await RawClient(server)
            var writer = FrameWriter()
            writer.preface()
            // SETTINGS_INITIAL_WINDOW_SIZE
            writer.settings([(4, 0)])
            try await client.send(writer.bytes + Self.request)
            // The connection remains open while an exchange is in progress.
            try await server.waitUntil { $0.acceptedConnections == 1 && $0.openConnections == 0 }
        }
    }
}
