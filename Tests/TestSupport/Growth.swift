import Foundation

/// Measures how the processor time of a reader grows with the length of its input.
package enum Growth {
    /// The maximum ratio that counts as proportional: eight times the input may take 24 times as long, not 64 times.
    package static let limit = 24.0

    /// Returns how many times as long the work takes on eight times the input, the least of up to five attempts.
    ///
    /// - Parameters:
    ///   - size: The number of bytes, or elements, of the shorter input.
    ///   - make: Makes the work on an input of the given size; making the input is not measured.
    /// - Returns: The ratio; infinity if the work never stayed on its thread.
    /// - Throws: An error of `make` or of the work.
    package static func ratio(
        size: Int = 2_000, _ make: (Int) throws -> () async throws -> Void
    ) async throws -> Double {
        let (small, large) = (try make(size), try make(8 * size))
        // The first run also pays for what is created once.
        try await small()
        var ratio = Double.infinity
        for _ in 0..<5 where ratio > limit {
            guard let first = try await time(of: small), let second = try await time(of: large) else { continue }
            ratio = min(ratio, second / first)
        }
        return ratio
    }

    /// Returns the time of one run in nanoseconds, averaged over at least a millisecond, or nil if the thread changed.
    private static func time(of work: () async throws -> Void) async throws -> Double? {
        let (start, thread) = (threadTime(), pthread_self())
        var runs = 0.0
        repeat {
            try await work()
            runs += 1
            // The clock of a thread measures only work that stays on the thread.
            guard pthread_equal(thread, pthread_self()) != 0 else { return nil }
        } while threadTime() - start < 1_000_000
        return Double(threadTime() - start) / runs
    }

    private static func threadTime() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
