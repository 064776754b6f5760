import RequestsSocket
import TestCorpora
import Testing

@Suite("The buffer of a connection", .timeLimit(.minutes(10)))
struct ReceiveBufferTests {
    /// A buffer, and the bytes that it should contain.
    private final class Model {
        var buffer = ReceiveBuffer()
        var unread: [UInt8] = []
        var next: UInt8 = 0

        /// Adds `count` bytes, or as many as there is space for, and returns their number.
        func receive(_ count: Int, atHead: Bool = false) -> Int {
            let space = atHead ? buffer.spaceForHead() : buffer.space()
            let bytes = (0..<min(count, space.count)).map { _ in
                next &+= 1
                return next
            }
            space.copyBytes(from: bytes)
            buffer.add(bytes.count)
            unread += bytes
            return bytes.count
        }

        func consume(_ count: Int) {
            buffer.consume(count)
            unread.removeFirst(min(count, unread.count))
        }

        var isValid: Bool { buffer.isEmpty == unread.isEmpty && Array(buffer.unread) == unread }
    }

    @Test("responses are received into 1 KiB, and after one has filled it, into 16 KiB")
    func sizes() {
        let model = Model()
        for _ in 0..<3 {
            #expect(model.receive(1023, atHead: true) == 1023)
            model.consume(1023)
            model.buffer.shrink()
        }
        // The remainder of a larger body is received at its destination.
        #expect(model.receive(2000, atHead: true) == 1024)
        model.consume(1024)
        model.buffer.shrink()
        for _ in 0..<3 {
            #expect(model.receive(5000, atHead: true) == 4096)
            #expect(model.receive(50_000) == 12 << 10)
            #expect(model.isValid)
            model.consume(16 << 10)
            model.buffer.shrink()
        }
    }

    @Test("memory that a head fills is replaced although a part of it has been read")
    func partOfHead() {
        let model = Model()
        #expect(model.receive(2000, atHead: true) == 1024)
        model.consume(1000)
        #expect(model.receive(50_000, atHead: true) == (16 << 10) - 24)
        #expect(model.isValid)
    }

    @Test("the unread bytes of a long head are kept when the memory grows or becomes wide")
    func growth() {
        let model = Model()
        #expect(model.receive(2000, atHead: true) == 1024)
        #expect(model.receive(50_000, atHead: true) == 15 << 10)
        #expect(model.receive(50_000) == 16 << 10)
        #expect(model.isValid)
        model.buffer.widen()
        #expect(model.receive(50_000) == 32 << 10)
        #expect(model.isValid)
        model.consume(64 << 10)
        model.buffer.shrink()
        #expect(model.receive(50_000) == 16 << 10)
        #expect(model.isValid)
    }

    @Test("memory that has become too small is replaced after wide memory was returned")
    func wide() {
        let model = Model()
        #expect(model.receive(1024, atHead: true) == 1024)
        model.buffer.widen()
        model.consume(1024)
        #expect(model.receive(100_000) == 64 << 10)
        model.consume(64 << 10)
        model.buffer.shrink()
        #expect(model.receive(100_000) == 16 << 10)
        #expect(model.isValid)
    }

    @Test("any order of steps keeps the unread bytes")
    func randomSteps() {
        var random = SplitMix64(state: 1)
        for _ in 0..<20 {
            let model = Model()
            for _ in 0..<100 {
                switch Int.random(in: 0..<8, using: &random) {
                case 0: model.buffer.widen()
                case 1 where model.unread.isEmpty: model.buffer.shrink()
                case 2...4: model.consume(Int.random(in: 0...(2 * model.unread.count), using: &random))
                case let step:
                    let count = Int.random(in: 1...(step == 5 ? 40_000 : 1500), using: &random)
                    #expect(model.receive(count, atHead: step == 6) > 0)
                }
                if !model.isValid { Issue.record("the bytes differ") }
            }
        }
    }
}
