import CRequestsPOSIX

/// The owner of the descriptor of a regular file, which is locked until this value is destroyed (flock).
struct LockedDescriptor: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// The number for system calls, valid for the lifetime of this value.
    var number: Int32 { descriptor.number }

    private init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Opens the file at `path` with the flags of open(2), and locks it.
    ///
    /// - Throws: `FileError.locked` if another descriptor, of this process or another, has locked it.
    static func open(_ path: String, _ flags: Int32) throws(FileError) -> LockedDescriptor {
        var (own, named) = (stat(), stat())
        let descriptor = try Descriptor.open(path, flags, &own)
        guard rp_lock(descriptor.number) == 0 else {
            let error = SystemError.last("flock")
            guard error.code == EWOULDBLOCK else { throw .system(error, path: path) }
            throw .locked(path: path)
        }
        let locked = LockedDescriptor(descriptor)
        // The former owner of the lock may have moved or replaced the file before it was locked here.
        guard stat(path, &named) == 0, named.st_ino == own.st_ino, named.st_dev == own.st_dev else {
            throw .locked(path: path)
        }
        return locked
    }

    deinit {
        // Closing does not suffice: a forked child shares the lock until it ends or runs another program.
        _ = rp_unlock(descriptor.number)
    }
}
