import Requests

/// The error of a request whose wire text is not the expected one, or whose snapshot cannot be used.
public struct WireSnapshotError: Error, CustomStringConvertible {
    /// The problem of a snapshot.
    @nonexhaustive
    public enum Problem: Hashable, Sendable {
        /// The texts differ.
        case differs
        /// The file does not exist, and `REQUESTS_RECORD` is not set.
        case missing
        /// The file cannot be read or written.
        case inaccessible
        /// The file is not UTF-8 text.
        case notText
        /// The file or the wire text has more than 16 MiB.
        case tooLarge
        /// Another check has recorded a different text in the same file.
        ///
        /// It ran in this process or in one that is still running. Its text is kept.
        case recordedTwice
        /// The endpoint describes a request that cannot be sent.
        case notPrepared
    }

    /// The problem.
    public let problem: Problem

    /// The problem, the name of the snapshot, and the lines that differ; secrets in the wire text are redacted.
    public let description: String

    init(_ problem: Problem, _ description: String) {
        self.problem = problem
        self.description = description
    }
}
