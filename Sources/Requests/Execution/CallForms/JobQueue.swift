/// The jobs that wait for a thread, in the order of their arrival.
package struct JobQueue {
    private var jobs: [UnownedJob] = []
    /// The index of the first job that has not been taken.
    private var first = 0

    /// Creates a queue without jobs.
    package init() {}

    /// Whether no job waits.
    package var isEmpty: Bool { first == jobs.count }

    /// Adds a job at the end.
    package mutating func append(_ job: UnownedJob) {
        jobs.append(job)
    }

    /// Removes and returns the first job; nil if there is none.
    package mutating func take() -> UnownedJob? {
        guard first < jobs.count else { return nil }
        let job = jobs[first]
        first += 1
        if first == jobs.count {
            jobs.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 64 {
            // Removed in groups, so that a long queue is not moved for each job.
            jobs.removeFirst(first)
            first = 0
        }
        return job
    }

    /// Removes and returns all jobs.
    package mutating func takeAll() -> [UnownedJob] {
        defer {
            jobs.removeAll(keepingCapacity: true)
            first = 0
        }
        return isEmpty ? [] : Array(jobs[first...])
    }
}
