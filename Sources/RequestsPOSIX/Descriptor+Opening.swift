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
}
