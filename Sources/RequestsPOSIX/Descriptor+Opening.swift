import CRequestsPOSIX

extension Descriptor {
    /// Opens the regular file at `path` with the flags of open(2), and stores its status in `status`.
    static func open(_ path: String, _ flags: Int32, _ status: inout stat) throws(FileError) -> Descriptor {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath }
        let number = rp_open(path, flags)
        guard number >= 0 else { throw .system(.last("open"), path: path) }
        let descriptor = Descriptor(adopting: number)
        guard fstat(number, &status) == 0 else { throw .system(.last("fstat"), path: path) }
        guard rp_is_regular(&status) == 1 else { throw .notRegular(path: path) }
        return descriptor
    }

    /// Opens the regular file at `path` with the flags of open(2), and locks it until the descriptor is closed (flock).
    ///
    /// - Throws: `FileError.locked` if another descriptor, of this process or another, has locked it.
    static func openLocked(_ path: String, _ flags: Int32) throws(FileError) -> Descriptor {
        var (own, named) = (stat(), stat())
        let descriptor = try open(path, flags, &own)
        guard rp_lock(descriptor.number) == 0 else {
            let error = SystemError.last("flock")
            guard error.code == EWOULDBLOCK else { throw .system(error, path: path) }
            throw .locked(path: path)
        }
        // The former owner of the lock may have moved or replaced the file before it was locked here.
        guard stat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
            throw .locked(path: path)
        }
        return descriptor
    }
}
