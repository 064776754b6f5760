extension Deadline {
    /// Throws if the current task was cancelled, or if this deadline of the call has passed; for work that does not
    /// wait.
    @inline(never)  // keeps the error out of the frame of the function that suspends (decision 0012)
    package func check() throws(RequestError) {
        if Task.isCancelled { throw RequestError(.cancelled) }
        if self != .distantFuture, hasPassed { throw RequestError(.timedOut(.total)) }
    }
}
