import CRequestsPOSIX
import CRequestsTest
import Foundation

/// The processes that are killed while they write a file.
package enum KilledWriters {
    /// Their number in one test, 20 by default: a forked process has the locks of other tests for a moment.
    package static let count = ProcessInfo.processInfo.environment["REQUESTS_KILLS"].flatMap(Int.init) ?? 20

    #if os(Linux)
    /// Kills a process that writes, after it has changed the file or folder at `path` once.
    ///
    /// - Parameters:
    ///   - round: The number of the process; each of 200 is killed at another time after its first change.
    ///   - path: The file or folder. A process that hangs does not change it, and is killed after 5 s.
    ///   - write: The work of the process, which is repeated without end; its argument is 1, 2, and so on.
    /// - Returns: Whether the process was killed, and had not ended before.
    package static func kill(_ round: Int, changing path: String, _ write: (Int) -> Void) -> Bool {
        let former = state(of: path)
        let child = ForkedChildren.start(lasting: 20, closesDescriptors: true) {
            for number in 1... { write(number) }
            return false
        }
        guard child > 0 else { return false }
        // 5 s, of which a process that works needs some milliseconds.
        for _ in 0..<5_000 where state(of: path) == former { usleep(1_000) }
        // Steps of 41 µs spread 200 processes over the 8 ms that a few writes take.
        usleep(useconds_t(round % 200 * 41))
        return Foundation.kill(child, SIGKILL) == 0 && rp_wait_for_child(child, 10) == -SIGKILL
    }

    /// What a change of a file or folder changes.
    private static func state(of path: String) -> [Int] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [] }
        return [Int(status.st_ino), Int(status.st_mtim.tv_sec), status.st_mtim.tv_nsec, Int(status.st_size)]
    }
    #endif
}
