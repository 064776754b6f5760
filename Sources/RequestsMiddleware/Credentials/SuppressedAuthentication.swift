internal import Synchronization

/// The authenticators that are suppressed in the current task.
enum SuppressedAuthentication {
    @TaskLocal static var authenticators: [any Authenticator] = []

    /// Whether any authenticator was ever suppressed; reading it is faster than reading a task-local value.
    fileprivate static let isUsed = Atomic(false)

    static func contains(_ authenticator: some Authenticator) -> Bool {
        // A task that suppresses an authenticator has set it before.
        guard isUsed.load(ordering: .relaxed) else { return false }
        let suppressed = authenticators
        return !suppressed.isEmpty && suppressed.contains { $0 === authenticator }
    }
}

extension Authenticator {
    /// Runs `operation`, whose requests do not receive the credentials of this authenticator.
    ///
    /// It applies to all requests of `operation`, also after it has suspended, and to the requests of tasks that it
    /// creates, except for detached ones. A response with status 401 is then not handled.
    ///
    /// - Throws: The error of `operation`.
    /// - Returns: The result of `operation`.
    public func withoutCredentials<Result, Failure: Error>(
        _ operation: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        SuppressedAuthentication.isUsed.store(true, ordering: .relaxed)
        let suppressed = SuppressedAuthentication.authenticators + [self]
        return try await SuppressedAuthentication.$authenticators.withValue(suppressed) {
            await Swift.Result(catching: operation)
        }.get()
    }

    /// Runs `operation`, whose blocking calls do not receive the credentials of this authenticator.
    ///
    /// - Throws: The error of `operation`.
    /// - Returns: The result of `operation`.
    @available(*, noasync, message: "the asynchronous form also applies after a suspension")
    public func withoutCredentials<Result, Failure: Error>(
        _ operation: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        SuppressedAuthentication.isUsed.store(true, ordering: .relaxed)
        let suppressed = SuppressedAuthentication.authenticators + [self]
        return try SuppressedAuthentication.$authenticators.withValue(suppressed) {
            Swift.Result(catching: operation)
        }.get()
    }
}
