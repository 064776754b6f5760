import CRequestsPOSIX
import Requests

/// A writer of a file that appears whole or not at all.
///
/// Bytes are written to a temporary file in the same folder, readable by its owner only (0600), which replaces the file
/// at the path when `finish()` is called. If the writer is destroyed earlier, it removes the temporary file and leaves
/// the file at the path unchanged.
package struct FileWriter: ~Copyable, Sendable {
    package let path: String
    private let temporaryPath: String
    private let descriptor: Descriptor
    private var isFinished = false
    private let forks = ForkCount.current
    /// The number of bytes written so far.
    package private(set) var size: Int64 = 0

    /// Creates a temporary file in the folder of `path`, which must exist.
    ///
    /// - Throws: `FileError.notRegular` if there is anything but a regular file at `path`.
    package init(replacing path: String) throws(FileError) {
        guard !path.isEmpty, !path.hasByteSuffix("/"), !path.utf8.contains(0) else { throw .invalidPath }
        try FileError.checkReplaceable(path)
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
        // A forked child leaves its parent's file in place (decision 0019).
        guard !isFinished, ForkCount.current == forks else { return }
        _ = unlink(temporaryPath)
    }

    /// Appends all of `bytes`; blocks until the file system has accepted them.
    package mutating func write(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        var remaining = bytes[...]
        while !remaining.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: remaining)
            do throws(SystemError) {
                let number = descriptor.number
                let count = try retryingInterrupts("write") {
                    CRequestsPOSIX.write(number, part.baseAddress, part.count)
                }
                size += Int64(count ?? 0)
                remaining = remaining.dropFirst(count ?? 0)
            } catch {
                throw .system(error, path: temporaryPath)
            }
        }
    }

    /// Waits until the bytes are on the disk, so that a crash of the system after `finish()` does not lose them.
    package func synchronize() throws(FileError) {
        do throws(SystemError) {
            let number = descriptor.number
            _ = try retryingInterrupts("fsync") { fsync(number) }
        } catch {
            throw .system(error, path: temporaryPath)
        }
    }

    /// Moves the file to its path, where it replaces an existing file.
    ///
    /// On failure the temporary file is removed. The bytes are synchronized to the disk only by ``synchronize()``.
    package consuming func finish() throws(FileError) {
        guard rename(temporaryPath, path) == 0 else { throw .system(.last("rename"), path: path) }
        isFinished = true
    }

    /// Completes the file at its path, where nothing may exist.
    ///
    /// - Throws: `FileError.exists` if anything exists there, which remains unchanged.
    package consuming func finishCreating() throws(FileError) {
        // A rename would replace a file that appears at this moment. The temporary name is removed with the writer.
        guard link(temporaryPath, path) == 0 else {
            let error = SystemError.last("link")
            throw error.code == EEXIST ? .exists(path: path) : .system(error, path: path)
        }
    }
}
