import Foundation
public import Testing

extension Tag {
    /// Tests of code that several threads or tasks use at once; `.ci/run` runs them with the thread sanitizer.
    @Tag public static var concurrent: Self
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where the thread sanitizer instruments it, for the `reason`.
    ///
    /// One that takes long, and adds nothing that other instrumented tests do not show.
    public static func notInstrumented(_ reason: Comment) -> ConditionTrait {
        .disabled(if: ProcessInfo.processInfo.environment["REQUESTS_INSTRUMENTED"] != nil, reason)
    }
}
