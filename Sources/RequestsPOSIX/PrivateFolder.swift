import CRequestsPOSIX

/// Functions for a folder of files that only its owner can access.
package enum PrivateFolder {
    /// A regular file in a folder.
    package struct File: Sendable {
        package let name: String
        /// The size in bytes.
        package let size: Int
        /// The time of the last change in seconds since 1970.
        package let modified: Int
    }

    /// Creates the folder at `path`, and the missing folders above it, with the mode 0700.
    package static func create(_ path: String) throws(FileError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath }
        if mkdir(path, 0o700) == 0 { return }
        let error = SystemError.last("mkdir")
        if error.code == EEXIST { return }
        guard error.isNotFound, let slash = path.utf8.dropLast().lastIndex(of: UInt8(ascii: "/")),
            slash > path.startIndex
        else { throw .system(error, path: path) }
        try create(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 else {
            let error = SystemError.last("mkdir")
            if error.code == EEXIST { return }
            throw .system(error, path: path)
        }
    }

    /// Throws if users other than the owner may replace files in the folder at `path`; a missing folder is accepted.
    ///
    /// In a sticky folder, such as `/tmp`, they may not. Only this user and the superuser may own the folder.
    package static func check(_ path: String) throws(FileError) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        let isOwned = status.st_uid == geteuid() || status.st_uid == 0
        guard isOwned, status.st_mode & 0o022 == 0 || status.st_mode & 0o1000 != 0 else {
            throw .folderNotPrivate(path: path)
        }
    }

    /// Returns the regular files in the folder, in no order.
    ///
    /// - Throws: `FileError` if the folder cannot be listed, or one of its files cannot be examined.
    package static func files(in path: String) throws(FileError) -> [File] {
        guard let folder = opendir(path) else { throw .system(.last("opendir"), path: path) }
        defer { closedir(folder) }
        var files: [File] = []
        while true {
            // Only errno distinguishes an error from the end of the list.
            rp_clear_errno()
            guard let entry = readdir(folder) else {
                let code = rp_errno()
                guard code == 0 else { throw .system(SystemError("readdir", code: code), path: path) }
                return files
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0 else {
                let error = SystemError.last("lstat")
                // Another process has removed it meanwhile.
                if error.isNotFound { continue }
                throw .system(error, path: "\(path)/\(name)")
            }
            guard rp_is_regular(&status) == 1 else { continue }
            files.append(File(name: name, size: Int(status.st_size), modified: Int(rp_modified(&status))))
        }
    }

    /// Returns whether there is certainly nothing at `path`; false if that cannot be determined.
    package static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) != 0 && SystemError.last("lstat").isNotFound
    }

    /// Removes the file at `path`; a folder is not removed.
    ///
    /// - Returns: The reason why the file is still there; nil if there is none at `path` now.
    @discardableResult
    package static func remove(_ path: String) -> FileError? {
        if unlink(path) == 0 { return nil }
        let error = SystemError.last("unlink")
        return error.isNotFound ? nil : .system(error, path: path)
    }

    /// Sets the modification time of the file at `path` to the current time.
    package static func touch(_ path: String) {
        _ = utimensat(AT_FDCWD, path, nil, 0)
    }
}
