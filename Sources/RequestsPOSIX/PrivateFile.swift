import CRequestsPOSIX

/// Functions for a small file that only its owner can access, such as one with secrets.
package enum PrivateFile {
    /// Returns the bytes of the file at `path`; nil if there is none.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - limit: The maximum number of bytes.
    ///   - beginning: The bytes with which the file must begin. They are compared before memory is allocated
    ///     for the others, so that a large file of another kind needs no such memory.
    /// - Returns: The bytes; nil if the file does not exist.
    /// - Throws: `FileError.folderNotPrivate` if another user may replace it; `notPrivate` if another user owns it, or
    ///   may read or change it; `tooLarge` if it has more than `limit` bytes; `malformed` if it begins differently.
    package static func contents(
        of path: String, limit: Int, beginningWith beginning: [UInt8] = []
    ) throws(FileError) -> [UInt8]? {
        try PrivateFolder.check(folder(of: path))
        do throws(FileError) {
            return try contents(of: FileReader(path: path), limit: limit, beginningWith: beginning)
        } catch .system(let error, _) where error.isNotFound {
            return nil
        }
    }

    private static func contents(
        of file: consuming FileReader, limit: Int, beginningWith beginning: [UInt8]
    ) throws(FileError) -> [UInt8] {
        var status = stat()
        guard fstat(file.descriptor.number, &status) == 0 else { throw .system(.last("fstat"), path: file.path) }
        guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else { throw .notPrivate(path: file.path) }
        guard file.size <= limit else { throw .tooLarge(path: file.path, limit: limit) }
        if !beginning.isEmpty, try file.bytes(atMost: beginning.count) != beginning {
            throw .malformed(path: file.path)
        }
        return try file.contents(limit: limit)
    }

    /// Replaces the file at `path` with one that contains `bytes` and has the mode 0600.
    ///
    /// It returns when the bytes are on the disk. After a crash at any time, the file has the old or the new bytes.
    ///
    /// - Throws: `FileError.folderNotPrivate` if another user may replace it, or the error of the system.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(FileError) {
        try PrivateFolder.check(folder(of: path))
        var writer = try FileWriter(replacing: path)
        try bytes.withUnsafeBufferPointer { buffer throws(FileError) in try writer.write(UnsafeRawBufferPointer(buffer))
        }
        // Before the file is renamed: otherwise the new name could reach the disk before the bytes.
        try writer.synchronize()
        try writer.finish()
        try synchronizeFolder(of: path)
    }

    /// Returns the path of the folder that contains `path`.
    private static func folder(of path: String) -> String {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? "."
    }

    /// Waits until the entry of `path` in its folder is on the disk.
    private static func synchronizeFolder(of path: String) throws(FileError) {
        let folder = folder(of: path)
        let number = rp_open(folder, rp_open_reading)
        guard number >= 0 else { throw .system(.last("open"), path: folder) }
        let descriptor = Descriptor(adopting: number)
        do throws(SystemError) {
            _ = try retryingInterrupts("fsync") { fsync(number) }
        } catch {
            // Some file systems cannot synchronize folders.
            guard error.isNotSupportedByFile else { throw .system(error, path: folder) }
        }
        _ = consume descriptor
    }
}
