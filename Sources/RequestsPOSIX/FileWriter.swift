import CRequestsPOSIX
import Requests

/// A file that comes into being whole or not at all.
///
/// Bytes go to a new file in the same folder, readable by its owner only (0600), which takes the place of the path when
/// `finish()` is called. A writer dropped before that leaves nothing behind and what was at the path as it was.
package struct FileWriter: ~Copyable, Sendable {
    package let path: String
    private let temporaryPath: String
    private let descriptor: Descriptor
    private var isFinished = false
    private let forks = ForkCount.current
    /// Bytes written so far.
    package private(set) var size: Int64 = 0

    /// Opens a temporary file in the folder of `path`, which must exist.
    package init(replacing path: String) throws(FileError) {
        guard !path.isEmpty, !path.hasByteSuffix("/"), !path.utf8.contains(0) else { throw .invalidPath }
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? ""
        let number = UInt64.random(in: .min ... .max)
        let temporary = "\(folder).requests-\(String(number, radix: 36)).part"
        let descriptor = rp_open(temporary, rp_open_creating)
        guard descriptor >= 0 else { throw .system(.last("open"), path: temporary) }
        self.path = path
        temporaryPath = temporary
        self.descriptor = Descriptor(adopting: descriptor)
    }

    deinit {
        // A forked child leaves its parent's file in place.
        guard !isFinished, ForkCount.current == forks else { return }
        _ = unlink(temporaryPath)
    }

    /// Writes all the bytes after what was written before; blocks for as long as the disk does.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            do throws(SystemError) {
                let number = descriptor.number
                let count = try retryingInterrupts("write") {
                    CRequestsPOSIX.write(number, part.baseAddress, part.count)
                }
                size += Int64(count ?? 0)
                rest = rest.dropFirst(count ?? 0)
            } catch {
                throw .system(error, path: temporaryPath)
            }
        }
    }

    /// Puts the file in its place, where it replaces what was there.
    ///
    /// On failure the temporary file is removed. The bytes are not forced to the disk.
    package consuming func finish() throws(FileError) {
        guard rename(temporaryPath, path) == 0 else { throw .system(.last("rename"), path: path) }
        isFinished = true
    }
}
