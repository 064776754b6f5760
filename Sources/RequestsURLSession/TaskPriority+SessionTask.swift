extension TaskPriority {
    /// The priority for a session task, from 0 to 1, that corresponds to this priority.
    var ofSessionTask: Float {
        if self > .medium { return URLSessionTask.highPriority }
        return self < .medium ? URLSessionTask.lowPriority : URLSessionTask.defaultPriority
    }
}
