extension Deadline {
    /// Throws if the current task was cancelled, or if this deadline of the call has passed; for work that does not
    /// wait.
    package func check() throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        if self != .distantFuture, hasPassed { throw RequestError(.timedOut(.total)) }
    }
}
