import Foundation
import Requests

/// The part of a long table, or of many repetitions, that a run takes: a sample in `swift test`, everything in
/// `.ci/run`, which sets REQUESTS_EVERYTHING.
package enum Sample {
    private static let isEverything = ProcessInfo.processInfo.environment["REQUESTS_EVERYTHING"] != nil

    /// Returns `count`, or `all` if the run takes everything.
    package static func count<Count: BinaryInteger>(_ count: Count, of all: Count) -> Count {
        isEverything ? all : count
    }

    /// Returns a random third of `elements` in their order, or all of them if the run takes everything.
    ///
    /// The seed is printed with `test`, and REQUESTS_FUZZ_SEED sets it.
    package static func third<Element>(
        of elements: [Element], for test: String, fileID: String = #fileID
    ) -> [Element] {
        if isEverything { return elements }
        var random = RandomSeed(fileID: fileID, function: test).numbers()
        let indices = elements.indices.shuffled(using: &random).prefix((elements.count + 2) / 3)
        return indices.sorted().map { elements[$0] }
    }
}
