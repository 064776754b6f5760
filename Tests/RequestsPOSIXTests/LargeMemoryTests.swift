import RequestsPOSIX
import Testing

@Suite("LargeMemory")
struct LargeMemoryTests {
    private let memory = LargeMemory()

    @Test("a block is available only between the minimum and the maximum size")
    func sizes() throws {
        #expect(memory.take(0) == nil)
        #expect(memory.take(LargeMemory.unit - 1) == nil)
        #expect(memory.take(LargeMemory.most + 1) == nil)
        for size in [LargeMemory.unit, LargeMemory.unit + 1, LargeMemory.most] {
            let start = try #require(memory.take(size))
            #expect(Int(bitPattern: start) % LargeMemory.unit == 0)
            start.storeBytes(of: 1, as: UInt8.self)
            start.storeBytes(of: 2, toByteOffset: size - 1, as: UInt8.self)
            memory.recycle(start, size)
        }
    }

    @Test("a returned block is reused unless it is too small or more than twice as large")
    func again() throws {
        let first = try #require(memory.take(5 << 20))
        memory.recycle(first, 5 << 20)
        #expect(memory.take(6 << 20) != first)
        #expect(memory.take(2 << 20) != first)
        #expect(memory.take(3 << 20) == first)
        memory.recycle(first, 3 << 20)
        #expect(memory.take(5 << 20) != first)
        #expect(memory.take(3 << 20) == first)
        #expect(memory.take(3 << 20) != first)
    }

    @Test("the oldest returned blocks are released beyond the maximum size of the cache")
    func bounded() throws {
        let pieces = try (0..<3).map { _ in try #require(memory.take(7 << 20)) }
        for piece in pieces {
            piece.storeBytes(of: 9, as: UInt8.self)
            memory.recycle(piece, 7 << 20)
        }
        #expect(memory.take(7 << 20) == pieces[2])
        #expect(memory.take(7 << 20) == pieces[1])
        // New memory is zero.
        #expect(try #require(memory.take(7 << 20)).load(as: UInt8.self) == 0)
    }

    @Test("a block that is cut below the minimum size is not kept")
    func cut() throws {
        let start = try #require(memory.take(8 << 20))
        start.storeBytes(of: 7, toByteOffset: 99_999, as: UInt8.self)
        memory.cut(start, from: 8 << 20, to: 100_000)
        #expect(start.load(fromByteOffset: 99_999, as: UInt8.self) == 7)
        memory.recycle(start, 100_000)
        let next = try #require(memory.take(2 << 20))
        #expect(next.load(fromByteOffset: 99_999, as: UInt8.self) == 0)
        memory.recycle(next, 2 << 20)
    }

    @Test("a block occupies only the pages that are written")
    func untouched() async {
        await #expect(processExitsWith: .success) {
            let memory = LargeMemory()
            let before = try #require(ProcessUsage.peakResidentKiB)
            for _ in 0..<40 {
                let start = try #require(memory.take(LargeMemory.most))
                start.storeBytes(of: 1, as: UInt8.self)
                start.storeBytes(of: 1, toByteOffset: LargeMemory.unit - 1, as: UInt8.self)
            }
            #expect(try #require(ProcessUsage.peakResidentKiB) - before < 8 << 10)
        }
    }
}
