import Synchronization

/// A counter for all threads.
public final class SharedCounter: Sendable {
    private let count = Atomic(0)

    /// Creates a counter of 0.
    public init() {}

    /// The current count.
    public var value: Int { count.load(ordering: .acquiring) }

    /// Adds `number` and returns the sum.
    @discardableResult
    public func add(_ number: Int = 1) -> Int {
        count.wrappingAdd(number, ordering: .acquiringAndReleasing).newValue
    }
}
