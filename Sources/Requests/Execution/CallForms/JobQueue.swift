/// The jobs that wait for a thread, in the order of their arrival.
package struct JobQueue {
    /// The first job; outside the array, because few queues have more than one.
    private var first: UnownedJob?
    /// The later jobs, including those already taken.
    private var others: [UnownedJob] = []
    /// The number of elements of `others` that have been taken.
    private var taken = 0

    package init() {}

    package var isEmpty: Bool { first == nil }

    package mutating func append(_ job: UnownedJob) {
        if first == nil { first = job } else { others.append(job) }
    }

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
            // Removed in groups: each removal moves the whole remaining queue.
            others.removeFirst(taken)
            taken = 0
        }
        return job
    }

    package mutating func takeAll() -> [UnownedJob] {
        guard let job = first else { return [] }
        defer { self = JobQueue() }
        return [job] + others[taken...]
    }
}
