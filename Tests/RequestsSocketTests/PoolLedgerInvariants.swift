import TestCorpora

extension SplitMix64 {
    mutating func chance(oneIn count: Int) -> Bool { Int.random(in: 0..<count, using: &self) == 0 }
}

/// A violated invariant.
struct InvariantViolation: Error {
    let message: String
    let line: Int
}

/// Throws unless `condition` is true.
///
/// A million of these calls cost less than a million calls of the testing library.
func require(_ condition: @autoclosure () -> Bool, _ message: String = "", line: Int = #line) throws {
    guard condition() else { throw InvariantViolation(message: message, line: line) }
}
