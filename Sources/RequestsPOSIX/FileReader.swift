import CRequestsPOSIX
import Requests

package enum FileError: Error, Hashable, Sendable {
    /// The path does not lead to a regular file. Other files have no size and cannot be read twice.
    case notRegular(path: String)
    /// The path is empty or contains NUL.
    case invalidPath
    /// Another owner has locked the file, in this process or another.
    case locked(path: String)
    /// There is a file at the path, which must not be replaced.
    case exists(path: String)
    /// Users other than the owner may read or change the file.
    case notPrivate(path: String)
    /// Users other than the owner may replace the files in the folder.
    case folderNotPrivate(path: String)
    case malformed(path: String)
    case tooLarge(path: String, limit: Int)
    case system(SystemError, path: String)
}

extension FileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notRegular(let path): "\(ErrorText.quoted(path)) is not a regular file"
        case .invalidPath: "the path is empty or contains NUL"
        case .locked(let path): "\(ErrorText.quoted(path)) is in use: another task or process has locked it"
        case .exists(let path): "\(ErrorText.quoted(path)) exists"
        case .notPrivate(let path): "\(ErrorText.quoted(path)) can be accessed by others; set its mode to 0600"
        case .folderNotPrivate(let path):
            "others can write to the folder \(ErrorText.quoted(path)); remove that permission (chmod go-w), or use a "
                + "folder of your own"
        case .malformed(let path): "\(ErrorText.quoted(path)) is malformed"
        case .tooLarge(let path, let limit): "\(ErrorText.quoted(path)) is larger than \(ErrorText.bytes(limit))"
        case .system(let error, let path): "\(ErrorText.quoted(path)): \(error)"
        }
    }
}

extension FileError {
    /// Whether the error is not about the file itself, which may be intact: a system call failed, or the folder is
    /// refused.
    package var concernsNoFile: Bool {
        switch self {
        case .system, .folderNotPrivate: true
        default: false
        }
    }

    /// Throws if `path`, or the target of a symbolic link there, exists and is not a regular file.
    ///
    /// Moving a file onto a device such as `/dev/null` would remove the device, if the process may do that. A name that
    /// is too long for the file system is an error, too.
    package static func checkReplaceable(_ path: String) throws(FileError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let error = SystemError.last("stat")
            // Any other error concerns the folder; creating a file in it reports the error next.
            if error.code == ENAMETOOLONG { throw .system(error, path: path) }
            return
        }
        if rp_is_regular(&status) == 0 { throw .notRegular(path: path) }
    }
}

/// A regular file that is open for reading, and closed when this value is destroyed.
///
/// It is read with `pread`, never mapped: a file that shrinks then causes a short read and not a signal.
package struct FileReader: ~Copyable, Sendable {
    let descriptor: Descriptor
    package let path: String
    /// The size of the file in bytes when it was opened.
    package let size: Int64

    /// Opens the file at `path`, which must be a regular file.
    package init(path: String) throws(FileError) {
        var status = stat()
        descriptor = try Descriptor.open(path, rp_open_reading, &status)
        self.path = path
        size = Int64(status.st_size)
    }

    /// Returns the bytes of the file; fewer than its size if it shrinks meanwhile.
    ///
    /// - Throws: `FileError.tooLarge` if it has more than `limit` bytes.
    package func contents(limit: Int) throws(FileError) -> [UInt8] {
        guard size <= limit else { throw .tooLarge(path: path, limit: limit) }
        return try bytes(atMost: Int(size))
    }

    /// Returns the first bytes of the file, at most `count`.
    package func bytes(atMost count: Int) throws(FileError) -> [UInt8] {
        var failure: FileError?
        // Read in place: a large file must not be in memory twice.
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let memory = UnsafeMutableRawBufferPointer(buffer)
            do throws(FileError) {
                while filled < count {
                    let part = UnsafeMutableRawBufferPointer(rebasing: memory[filled..<count])
                    let read = try read(into: part, at: Int64(filled))
                    if read == 0 { return }
                    filled += read
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Reads from `offset`, possibly fewer bytes than fit in the buffer, and returns their number; 0 at the end of the
    /// file.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(FileError) -> Int {
        guard buffer.count > 0 else { return 0 }
        do throws(SystemError) {
            let count = try retryingInterrupts("pread") {
                pread(descriptor.number, buffer.baseAddress, buffer.count, off_t(offset))
            }
            return count ?? 0
        } catch {
            throw .system(error, path: path)
        }
    }
}
