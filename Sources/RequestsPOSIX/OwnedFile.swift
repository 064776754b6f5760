import CRequestsPOSIX

/// A file that belongs to this value: while it exists, no other `OwnedFile` can open it, in this process or another
/// (flock).
package final class OwnedFile: Sendable {
    private let path: String
    private let descriptor: Descriptor

    private init(_ path: String, _ descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Opens the file at `path`; returns nil if it does not exist.
    ///
    /// - Throws: `FileError.locked` if another value has it.
    package static func open(_ path: String) throws(FileError) -> OwnedFile? {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath }
        let number = rp_open(path, rp_open_reading)
        guard number >= 0 else {
            let error = SystemError.last("open")
            if error.isNotFound { return nil }
            throw .system(error, path: path)
        }
        let descriptor = Descriptor(adopting: number)
        var (own, named) = (stat(), stat())
        guard fstat(number, &own) == 0 else { throw .system(.last("fstat"), path: path) }
        guard rp_is_regular(&own) == 1 else { throw .notRegular(path: path) }
        guard rp_lock(number) == 0 else {
            let error = SystemError.last("flock")
            guard error.code == EWOULDBLOCK else { throw .system(error, path: path) }
            throw .locked(path: path)
        }
        // Another value may have replaced the file before it was locked here.
        guard stat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
            throw .locked(path: path)
        }
        return OwnedFile(path, descriptor)
    }

    /// Moves the file to `other`, in place of `former`, the file there; nil if there is none.
    ///
    /// - Throws: `FileError.locked` if there is a file, and `former` is nil.
    package func move(to other: String, replacing former: OwnedFile?) throws(FileError) {
        if former != nil {
            guard rename(path, other) == 0 else { throw .system(.last("rename"), path: other) }
            return
        }
        // A rename would replace a file that appears at this moment.
        guard link(path, other) == 0 else {
            let error = SystemError.last("link")
            throw error.code == EEXIST ? .locked(path: other) : .system(error, path: other)
        }
        _ = unlink(path)
    }
}
