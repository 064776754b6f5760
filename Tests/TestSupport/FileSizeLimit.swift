package import Foundation

/// The maximum size of the files that the process writes, for tests in a child process.
package enum FileSizeLimit {
    /// Sets the limit to `bytes`, beyond which a write fails with EFBIG, and returns whether the system accepts it.
    package static func set(_ bytes: rlim_t) -> Bool {
        // Without this line, the signal of such a write ends the process.
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
        #if os(Linux)
        // The name of the resource is an enumeration in Glibc, and a macro elsewhere.
        return setrlimit(__rlimit_resource_t(1), &limit) == 0
        #else
        return setrlimit(RLIMIT_FSIZE, &limit) == 0
        #endif
    }
}
