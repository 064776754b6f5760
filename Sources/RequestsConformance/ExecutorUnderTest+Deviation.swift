extension ExecutorUnderTest {
    /// A guarantee that an executor is known not to keep on this platform, and the reason.
    public struct Deviation: Hashable, Sendable {
        /// The name of the scenario that fails.
        public let scenario: String

        /// The reason why it fails and cannot be fixed here.
        public let reason: String

        /// A part of the message of the scenario's ``ConformanceFailure``.
        ///
        /// A failure without it does not count as this deviation.
        ///
        /// It may be empty only if the deviation is fatal.
        public let failure: String

        /// Whether the scenario would end the process or never return; it is then not run.
        public let isFatal: Bool

        /// Whether the scenario sometimes passes, because its result depends on the order of events.
        public let isOccasional: Bool

        /// Creates a deviation from the scenario with the name `scenario`, which fails with a message that contains
        /// `failure`.
        public init(
            scenario: String, reason: String, failure: String = "", isFatal: Bool = false, isOccasional: Bool = false
        ) {
            self.scenario = scenario
            self.reason = reason
            self.failure = failure
            self.isFatal = isFatal
            self.isOccasional = isOccasional
        }
    }
}
