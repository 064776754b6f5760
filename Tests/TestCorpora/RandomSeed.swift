import Requests

/// The seed of a test that draws other numbers in each run.
///
/// The test prints it, and REQUESTS_FUZZ_SEED sets it. The same seed gives the same numbers to each task of the test;
/// the order in which tasks run may differ. A test that runs in a child process creates the seed outside, and passes it
/// on, because the output of a child that fails is lost.
package struct RandomSeed: Codable, Sendable {
    package let value: UInt64

    /// Takes the seed from the environment, or draws one, and prints it with the name of the test.
    package init(fileID: String = #fileID, function: String = #function) {
        value = Mutator.environmentSeed ?? .random(in: .min ... .max)
        print("\(fileID) \(function): REQUESTS_FUZZ_SEED=\(value)")
    }

    /// Returns the generator of a task, or of another part, of the test.
    package func numbers(for part: Int = 0) -> SplitMix64 {
        SplitMix64(state: value &+ UInt64(truncatingIfNeeded: part) &* 0xD134_2543_DE82_EF95)
    }
}
