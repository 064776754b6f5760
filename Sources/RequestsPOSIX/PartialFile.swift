import CRequestsPOSIX

/// A file that grows by appending, perhaps over several runs of a program, until it takes its place under another name.
///
/// While it is open no other one of its path can be, in this process or another (flock).
package final class PartialFile: Sendable {
    package let path: String
    private let descriptor: Descriptor

    private init(_ path: String, _ descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Opens the file at `path`, readable by its owner only (0600); nil when there is none and it is not to be made.
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
        guard rp_lock(number) == 0 else { throw .system(.last("flock"), path: path) }
        // Whoever had the lock before may have given the file its place meanwhile: then it is no longer ours to write.
        guard stat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
            throw .system(SystemError("flock", code: EWOULDBLOCK), path: path)
        }
        return PartialFile(path, descriptor)
    }

    /// Bytes in the file now.
    package func size() throws(FileError) -> Int64 {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { throw .system(.last("fstat"), path: path) }
        return Int64(status.st_size)
    }

    /// Makes the file empty.
    package func truncate() throws(FileError) {
        guard ftruncate(descriptor.number, 0) == 0 else { throw .system(.last("ftruncate"), path: path) }
    }

    /// Writes all the bytes at the end; blocks for as long as the disk does.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
        let number = descriptor.number
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest)
            do throws(SystemError) {
                let count = try retryingInterrupts("write") { write(number, part.baseAddress, part.count) }
                rest = rest.dropFirst(count ?? 0)
            } catch {
                throw .system(error, path: path)
            }
        }
    }

    /// Gives the file its place at `other`, where it replaces what was there; the bytes are not forced to the disk.
    package func move(to other: String) throws(FileError) {
        guard rename(path, other) == 0 else { throw .system(.last("rename"), path: other) }
    }
}
