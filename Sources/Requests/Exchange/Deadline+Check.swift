extension Deadline {
    /// Throws if the current task was cancelled or this deadline has passed.
    ///
    /// Work that never waits calls it between its steps.
    package func check() throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        if self != .distantFuture, hasPassed { throw RequestError(.timedOut(.total)) }
    }
}
