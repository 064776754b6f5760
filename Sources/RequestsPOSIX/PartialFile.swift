import CRequestsPOSIX

/// A file that is appended to, possibly over several runs of a program, and finally moved to another path.
///
/// While it is open, no other `PartialFile` can open its path, in this process or another (flock).
package final class PartialFile: Sendable {
    package let path: String
    private let descriptor: Descriptor

    private init(_ path: String, _ descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Opens the file at `path`, readable by its owner only (0600); returns nil if it does not exist and `creating` is
    /// false.
    package static func open(_ path: String, creating: Bool) throws(FileError) -> PartialFile? {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath }
        let number = rp_open(path, creating ? rp_open_appending | rp_open_if_missing : rp_open_appending)
        guard number >= 0 else {
            let error = SystemError.last("open")
            if error.isNotFound, !creating { return nil }
            throw .system(error, path: path)
        }
        let descriptor = Descriptor(adopting: number)
        var own = stat()
        var named = stat()
        guard fstat(number, &own) == 0 else { throw .system(.last("fstat"), path: path) }
        guard rp_is_regular(&own) == 1 else { throw .notRegular(path: path) }
        guard rp_lock(number) == 0 else {
            let error = SystemError.last("flock")
            guard error.code == EWOULDBLOCK else { throw .system(error, path: path) }
            throw .locked(path: path)
        }
        // The former owner of the lock may have moved the file meanwhile: then it is not the file at this path.
        guard stat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
            throw .locked(path: path)
        }
        return PartialFile(path, descriptor)
    }

    /// Returns the current size of the file in bytes.
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
