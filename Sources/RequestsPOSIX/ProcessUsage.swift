import CRequestsPOSIX

/// The resources that the process has used so far, as counted by the kernel.
package struct ProcessUsage: Sendable {
    /// The time spent in user code.
    package let user: Duration
    /// The time spent in the kernel for the process.
    package let system: Duration
    /// The number of voluntary and involuntary context switches.
    package let contextSwitches: Int

    package static func now() -> ProcessUsage {
        var usage = rusage()
        _ = rp_usage(&usage)
        return ProcessUsage(
            user: Duration(usage.ru_utime), system: Duration(usage.ru_stime),
            contextSwitches: Int(usage.ru_nvcsw) + Int(usage.ru_nivcsw))
    }

    /// The peak resident memory of this program in KiB; nil on systems that do not report it.
    ///
    /// It is read from `/proc/self/status`, because `ru_maxrss` includes the parent's peak before exec.
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

package func terminate(_ status: Int32) -> Never {
    exit(status)
}
