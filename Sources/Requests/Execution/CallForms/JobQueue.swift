/// The jobs that wait for a thread, in the order of their arrival.
package struct JobQueue {
    /// The first job; few queues have more than one.
    private var first: UnownedJob?
    /// The later jobs, after those that have been taken.
    private var others: [UnownedJob] = []
    /// The number of `others` that have been taken.
    private var taken = 0

    /// Creates a queue without jobs.
    package init() {}

    /// Whether no job waits.
    package var isEmpty: Bool { first == nil }

    /// Adds a job at the end.
    package mutating func append(_ job: UnownedJob) {
        if first == nil { first = job } else { others.append(job) }
    }

    /// Removes and returns the first job; nil if there is none.
    package mutating func take() -> UnownedJob? {
        guard let job = first else { return nil }
        first = others.isEmpty ? nil : takeOther()
        return job
    }

    private mutating func takeOther() -> UnownedJob {
        let job = others[taken]
        taken += 1
        if taken == others.count {
            others.removeAll(keepingCapacity: true)
            taken = 0
        } else if taken >= 64 {
            // Removed in groups, so that a long queue is not moved for each job.
            others.removeFirst(taken)
            taken = 0
        }
        return job
    }

    /// Removes and returns all jobs.
    package mutating func takeAll() -> [UnownedJob] {
        guard let job = first else { return [] }
        defer { self = JobQueue() }
        return [job] + others[taken...]
    }
}
