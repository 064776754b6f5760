@_spi(Lock) import Requests
import RequestsPOSIX

/// The destination of a response body while it arrives.
enum ReceivedBody: Sendable {
    /// In memory. More than `limit` bytes are an error, or are cut off unless the body must be whole.
    case collected(limit: Int, mustBeWhole: Bool)
    /// In memory, at most `limit` bytes: the body of a redirect that is followed, which cannot fail the call.
    case drained(limit: Int)
    /// Delivered to a reader as it arrives.
    case streamed
    /// In a file that appears whole or not at all.
    case saved(ReceivedFile)
}

/// A file that stores a response body.
final class ReceivedFile: Sendable {
    // The writer, until the file is finished or released. The wrapper makes an optional of a noncopyable value
    // assignable.
    private struct Storage: ~Copyable {
        var writer: FileWriter?
    }

    let path: String
    private let storage: Lock<Storage>

    init(path: String) throws(RequestError) {
        self.path = path
        do throws(FileError) {
            storage = Lock(Storage(writer: try FileWriter(replacing: path)))
        } catch {
            throw ReceivedFile.failure(error)
        }
    }

    func write(_ data: Data) throws(RequestError) {
        do {
            try storage.withLock { storage in
                try data.withUnsafeBytes { try storage.writer?.write($0) }
            }
        } catch {
            throw Self.failure(error)
        }
    }

    /// Moves the file to its path, where it replaces an existing one.
    func finish() throws(RequestError) {
        do {
            try storage.withLock { storage in
                try storage.writer.take()?.finish()
            }
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> RequestError {
        RequestError(.fileAccessFailed, detail: "\(error)", underlying: error)
    }
}
