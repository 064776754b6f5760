import CRequestsPOSIX

/// What the process has used so far, as the kernel counts it.
package struct ProcessUsage: Sendable {
    /// Time in user code.
    package let user: Duration
    /// Time in the kernel on the process's behalf.
    package let system: Duration
    /// Voluntary and involuntary context switches.
    package let contextSwitches: Int

    /// The usage now.
    package static func now() -> ProcessUsage {
        var usage = rusage()
        _ = rp_usage(&usage)
        return ProcessUsage(
            user: Duration(usage.ru_utime), system: Duration(usage.ru_stime),
            contextSwitches: Int(usage.ru_nvcsw) + Int(usage.ru_nivcsw))
    }

    /// The most memory this program has had at once, in KiB; nil where the system does not tell.
    ///
    /// Read from the program's own high-water mark, since `ru_maxrss` carries the parent's peak over exec.
    package static var peakResidentKiB: Int? {
        guard let file = try? FileReader(path: "/proc/self/status") else { return nil }
        var text = [UInt8](repeating: 0, count: 8192)
        guard let count = try? text.withUnsafeMutableBytes({ try file.read(into: $0, at: 0) }) else { return nil }
        let lines = String(decoding: text.prefix(count), as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix("VmHWM:") }.flatMap { Int($0.filter(\.isNumber)) }
    }
}

extension Duration {
    fileprivate init(_ time: timeval) {
        self = .seconds(Int64(time.tv_sec)) + .microseconds(Int64(time.tv_usec))
    }
}

/// Ends the program with `status`.
package func terminate(_ status: Int32) -> Never {
    exit(status)
}
