import Foundation

/// The maximum number of open descriptors of the process, for tests in a child process.
package enum DescriptorLimit {
    #if os(Linux)
    private static let folder = "/proc/self/fd"
    #else
    private static let folder = "/dev/fd"
    #endif

    /// Sets the limit to `count` descriptors above the highest open one, and returns whether the system accepts it.
    package static func leave(_ count: Int) -> Bool {
        let open = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.compactMap { Int($0) } ?? []
        return set((open.max() ?? 2) + 1 + count)
    }

    /// Sets the limit to `count` descriptors, and returns whether the system accepts it.
    package static func set(_ count: Int) -> Bool {
        let maximum = rlim_t(count)
        var limit = rlimit(rlim_cur: maximum, rlim_max: maximum)
        #if os(Linux)
        // The name of the resource is an enumeration in Glibc, and a macro elsewhere.
        return setrlimit(__rlimit_resource_t(7), &limit) == 0
        #else
        return setrlimit(RLIMIT_NOFILE, &limit) == 0
        #endif
    }
}
