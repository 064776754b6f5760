import CRequestsPOSIX

/// A file that is appended to, possibly over several runs of a program, and finally moved to another path.
///
/// While it is open, no other `PartialFile` can open its path, in this process or another (flock).
package final class PartialFile: Sendable {
    package let path: String
    private let descriptor: LockedDescriptor

    private init(_ path: String, _ descriptor: consuming LockedDescriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Opens the file at `path`, readable by its owner only (0600); returns nil if it does not exist and `creating` is
    /// false.
    package static func open(_ path: String, creating: Bool) throws(FileError) -> PartialFile? {
        let flags = creating ? rp_open_appending | rp_open_if_missing : rp_open_appending
        do throws(FileError) {
            return PartialFile(path, try LockedDescriptor.open(path, flags))
        } catch .system(let error, _) where error.isNotFound && !creating {
            return nil
        }
    }

    package func size() throws(FileError) -> Int64 {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { throw .system(.last("fstat"), path: path) }
        return Int64(status.st_size)
    }

    /// Removes all bytes from the file.
    package func truncate() throws(FileError) {
        guard ftruncate(descriptor.number, 0) == 0 else { throw .system(.last("ftruncate"), path: path) }
    }

    /// Appends all of `bytes`; blocks until the file system has accepted them.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let number = descriptor.number
        var remaining = bytes[...]
        while !remaining.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: remaining)
            do throws(SystemError) {
                let count = try retryingInterrupts("write") { write(number, part.baseAddress, part.count) }
                remaining = remaining.dropFirst(count ?? 0)
            } catch {
                throw .system(error, path: path)
            }
        }
    }

    /// Moves the file to `other`, where it replaces an existing file; the bytes are not synchronized to the disk.
    package func move(to other: String) throws(FileError) {
        try FileError.checkReplaceable(other)
        guard rename(path, other) == 0 else { throw .system(.last("rename"), path: other) }
    }
}
