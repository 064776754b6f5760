extension TaskPriority {
    /// The priority of a session task with this priority, from 0 to 1.
    var ofSessionTask: Float {
        if self > .medium { return URLSessionTask.highPriority }
        return self < .medium ? URLSessionTask.lowPriority : URLSessionTask.defaultPriority
    }
}
