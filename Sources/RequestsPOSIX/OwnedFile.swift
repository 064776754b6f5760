import CRequestsPOSIX

/// A file that belongs to this value.
///
/// While it exists, no other `OwnedFile` can open the file, in this process or another (flock).
package final class OwnedFile: Sendable {
    private let path: String
    private let descriptor: LockedDescriptor

    private init(_ path: String, _ descriptor: consuming LockedDescriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    /// Opens the file at `path`; returns nil if it does not exist.
    ///
    /// - Throws: `FileError.locked` if another value has it.
    package static func open(_ path: String) throws(FileError) -> OwnedFile? {
        do throws(FileError) {
            return OwnedFile(path, try LockedDescriptor.open(path, rp_open_reading))
        } catch .system(let error, _) where error.isNotFound {
            return nil
        }
    }

    /// Moves the file to `other`, replacing `former`, the file there; nil if there is none.
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
