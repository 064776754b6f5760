import CRequestsPOSIX

/// Why a file could not be used.
package enum FileError: Error, Hashable, Sendable {
    /// A folder, a pipe, a device: only regular files have a size and can be read twice.
    case notRegular(path: String)
    /// The path is empty or contains NUL.
    case invalidPath
    case system(SystemError, path: String)
}

extension FileError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notRegular(let path): "not a regular file: \(path)"
        case .invalidPath: "not a path: empty, or with a NUL in it"
        case .system(let error, let path): "\(error) at \(path)"
        }
    }
}

/// A regular file that is open for reading; closed when this value goes away.
///
/// Read with `pread`, never from a mapping: a file that shrinks is then a short read and not a signal.
package struct FileReader: ~Copyable, Sendable {
    let descriptor: Descriptor
    package let path: String
    /// Bytes in the file when it was opened.
    package let size: Int64

    package init(path: String) throws(FileError) {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .invalidPath }
        let number = rp_open(path, rp_open_reading)
        guard number >= 0 else { throw .system(.last("open"), path: path) }
        let descriptor = Descriptor(adopting: number)
        var status = stat()
        guard fstat(number, &status) == 0 else { throw .system(.last("fstat"), path: path) }
        guard rp_is_regular(&status) == 1 else { throw .notRegular(path: path) }
        self.descriptor = descriptor
        self.path = path
        size = Int64(status.st_size)
    }

    /// Reads from `offset`, perhaps less than the buffer holds; 0 at the end of the file.
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
